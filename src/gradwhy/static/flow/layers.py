"""Modules: making them, their parameters and children, calling them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradwhy.static.flow.histories import MAYBE, UNKNOWN_FLOW, YES, Fields, Flow, GradMode, Value
from gradwhy.static.flow.joining import join_all
from gradwhy.static.flow.ops import computed, leaf_or_plain, note_loss, sides
from gradwhy.static.flow.values import (
    TRUE,
    Bound,
    Const,
    Function,
    Instance,
    Layer,
    Mapping,
    Optimizer,
    Optional,
    Parameters,
    Partial,
    Seq,
    Tensor,
    Unknown,
    flows,
    is_module,
    plain,
)

if TYPE_CHECKING:
    from gradwhy.static.flow.run import Run
    from gradwhy.torchapi.table import ModuleRow

CONTAINERS = frozenset({
    "torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict", "torch.nn.ParameterList", "torch.nn.ParameterDict",
})  # fmt: skip
_SAME_OR_VIEW = ("Identity", "Flatten", "Unflatten", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d")
_HOLDABLE = (Tensor, Layer, Instance, Unknown, Optional)
_HELD = ("#rest", "#inner")
EVALUATED = "#evaluated"
"""Of a module that ``eval()`` was called on: its calls leave events."""
_WRAPPERS = frozenset(
    {"torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel", "torch.nn.parallel.DataParallel"}
)


def make(r: Run, path: str, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value | None:
    """A module of torch.nn; None where the class is not known."""
    layer = Layer(path, node)
    if path in _WRAPPERS and args:
        layer.f["module"] = args[0]
        return layer
    if path in CONTAINERS:
        fill(r, layer.f, path, args)
        return layer
    if path in ("torch.nn.TransformerEncoder", "torch.nn.TransformerDecoder") and args:
        from gradwhy.static.flow.cloning import clone

        layer.f["layers"] = clone(args[0])
        return layer
    row = r.table.module(path)
    if row is None:
        return None
    inplace = keywords.get("inplace")
    if isinstance(inplace, Const) and inplace.value:
        layer.f["#inplace"] = node
    if "reduction" in keywords:
        layer.f["#reduction"] = keywords["reduction"]
    equip(r, layer.f, row, args, keywords, node)
    return layer


def equip(r: Run, fields: Fields, row: ModuleRow, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> None:
    """Gives a layer the parameters that its class makes."""
    affine = keywords.get("affine", keywords.get("elementwise_affine"))
    if isinstance(affine, Const) and not affine.value:
        return
    bias = keywords.get("bias")
    for name in row.parameters:
        if "bias" in name and isinstance(bias, Const) and bias.value is False:
            continue
        parameter = leaf_or_plain(r, node, (), None, parameter=True)
        parameter.f["flow"] = Flow("leaf", YES, node, r.frame, owner=parameter)
        parameter.name = name
        r.write(fields, name, parameter)
    if row.inner:
        inside = leaf_or_plain(r, node, (), None, parameter=True)
        inside.f["flow"] = Flow("leaf", YES, node, r.frame, owner=inside)
        r.write(fields, "#inner", inside)


def fill(r: Run, fields: Fields, path: str, args: list[Value]) -> None:
    """Puts the given modules into a container."""
    given = [plain(value) for value in args]
    if len(given) == 1 and isinstance(given[0], (Mapping, Seq)):
        only = given[0]
        if isinstance(only, Mapping):
            for key, value in only.items.items():
                r.write(fields, str(key), value)
        else:
            for number, value in enumerate(only.items):
                pair = plain(value)
                if isinstance(pair, Seq) and len(pair.items) == 2 and isinstance(pair.items[0], Const):
                    r.write(fields, str(pair.items[0].value), pair.items[1])
                else:
                    r.write(fields, str(number), value)
        if only.rest is not None:
            r.write(fields, "#rest", only.rest)
        return
    from gradwhy.static.flow.functions import Spread

    for number, value in enumerate(given):
        if isinstance(value, Spread):
            r.write(fields, "#rest", value.value)
        else:
            r.write(fields, str(number), value)


def child_key(layer: Layer | Instance, index: Value) -> str | None:
    """The field of a container's entry."""
    keys = [key for key in layer.f if isinstance(key, str) and not key.startswith("#")]
    if not isinstance(index, Const):
        return None
    if isinstance(index.value, str):
        return index.value
    if isinstance(index.value, int) and "#rest" not in layer.f and -len(keys) <= index.value < len(keys):
        return keys[index.value]
    if isinstance(index.value, int) and index.value >= 0 and str(index.value) in layer.f:
        return str(index.value)
    return None


def children(module: Value) -> Iterator[tuple[str, Value]]:
    """(name, value) of what a module holds, "" for an entry whose name isn't known."""
    for key, value in getattr(module, "f", {}).items():
        if isinstance(value, _HOLDABLE) and (key in _HELD or not str(key).startswith("#")):
            yield ("" if key == "#rest" else str(key)), plain(value)


def contents(layer: Layer | Instance) -> Seq:
    """The entries of a container in order."""
    if isinstance(layer, Layer) and layer.path.endswith("Dict"):
        return Seq([Const(key) for key in layer.f if not key.startswith("#")])
    items = [value for name, value in children(layer) if name and not name.startswith("#")]
    rest = layer.f.get("#rest")
    return Seq(items, plain(rest) if rest is not None else None)


def item(r: Run, layer: Layer | Instance, index: Value, node: ast.AST) -> Value:
    key = child_key(layer, index)
    if key is not None and key in layer.f:
        value: Value = layer.f[key]
        return value
    found = [value for name, value in children(layer) if name or value is not None]
    if not isinstance(index, Const) and found and isinstance(layer, Layer):
        return found[0] if len(found) == 1 else join_all(found) if not is_module(found[0]) else Unknown(node)
    return plain(layer.f["#rest"]) if "#rest" in layer.f else Unknown(node)


def named_parameters(module: Value, prefix: str = "", depth: int = 8) -> Iterator[tuple[str, Tensor | None]]:
    """(name, parameter) of a module and of those inside it; None for what isn't known to be a module."""
    if "#escaped" in getattr(module, "f", {}) or depth == 0:
        yield prefix, None
        if depth == 0:
            return
    later: list[tuple[str, Value]] = []
    for name, value in children(module):
        if isinstance(value, Tensor):
            if value.parameter:
                yield prefix + name, value
        elif is_module(value):
            later.append((name, value))
        elif isinstance(value, Unknown):
            yield prefix + name, value.f.get("#parameter")
    for name, value in later:
        yield from named_parameters(value, f"{prefix}{name}.", depth - 1)


def parameters(r: Run, module: Value) -> tuple[list[tuple[str, Tensor]], bool]:
    """The parameters of a module, each once, and whether these are all."""
    module = plain(module)
    if isinstance(module, Unknown):
        return [("", opaque(r, module)), *named_of_unknown(module)], False
    if not is_module(module):
        return [], False
    found: dict[int, tuple[str, Tensor]] = {}
    complete = True
    for name, tensor in named_parameters(module):
        if tensor is None:
            complete = False
        else:
            found.setdefault(id(tensor), (name, tensor))
    return list(found.values()), complete


def named_of_unknown(module: Unknown) -> Iterator[tuple[str, Tensor]]:
    for name, value in children(module):
        if is_module(value):
            yield from ((f"{name}.{inner}", t) for inner, t in named_parameters(value) if t is not None)


def opaque(r: Run, module: Unknown) -> Tensor:
    """The one tensor that stands for the parameters of a module that this file does not show."""
    found = module.f.get("#parameter")
    if isinstance(found, Tensor):
        return found
    made = Tensor(UNKNOWN_FLOW, parameter=True)
    made.f["flow"] = Flow("unknown", MAYBE, owner=made)
    r.write(module.f, "#parameter", made)
    return made


def escape(r: Run, value: Value, depth: int = 4) -> None:
    """Something out of sight has got hold of a value: what it says of flags is not certain from here on."""
    value = plain(value)
    if isinstance(value, (Layer, Instance)) and is_module(value):
        if "#escaped" in value.f:
            return
        for _, tensor in named_parameters(value):
            if tensor is not None:
                r.write(tensor.f, "flow", Flow("unknown", MAYBE, owner=tensor))
        for part in list(all_modules(value)):
            _forget_state(r, part)
        r.write(value.f, "#escaped", True)
    elif isinstance(value, Optimizer):
        r.write(value.f, "complete", False)
        r.write(value.f, "#escaped", True)
    elif isinstance(value, Unknown):
        if "#scaler" in value.f or "#scheduler" in value.f:
            r.write(value.f, "#escaped", True)
    elif isinstance(value, Parameters):
        escape(r, value.owner, depth)
    elif isinstance(value, (Seq, Mapping)) and depth:
        parts = value.items.values() if isinstance(value, Mapping) else value.items
        for part in (*parts, *((value.rest,) if value.rest is not None else ())):
            escape(r, part, depth - 1)
    elif isinstance(value, Instance) and depth:
        _forget_state(r, value)
        for part in list(value.f.values()):
            if isinstance(part, Value):
                escape(r, part, depth - 1)
    elif isinstance(value, (Function, Bound, Partial)):
        _call_unseen(r, value)
    elif isinstance(value, Tensor) and value.flow.owner is not None:
        r.write(value.f, "flow", Flow("unknown", MAYBE, owner=value))


def _forget_state(r: Run, holder: Value) -> None:
    """Tensors that an object keeps may be others after a call that is out of sight: a state that is reset."""
    for key, part in list(getattr(holder, "f", {}).items()):
        kept = plain(part) if isinstance(part, Value) else part
        if isinstance(kept, Tensor) and not kept.parameter and kept.flow.owner is None:
            r.write(holder.f, key, Tensor(UNKNOWN_FLOW))  # type: ignore[attr-defined]


def _call_unseen(r: Run, value: Value) -> None:
    """A function of the file that something out of sight may call, with anything."""
    function = value
    while isinstance(function, (Bound, Partial)):
        function = function.function
    if not isinstance(function, Function) or id(function.node) in r.unseen or len(r.active) > 8:
        return
    r.unseen.add(id(function.node))
    from gradwhy.static.flow import functions, statements

    args = functions.anything(function, bound=isinstance(value, Bound))

    # Called later, or in a thread of its own, it runs in another grad mode than that of the line which hands it over.
    mode = r.mode if r.mode.on else GradMode(None, r.mode.cause, r.mode.at, r.mode.frame)

    def way() -> bool:
        with r.switched(mode):
            r.call(value, args, {"**": Unknown()}, function.node)
        return False

    statements.branches(r, [way, lambda: False])
    r.unseen.discard(id(function.node))


def call_layer(r: Run, layer: Layer, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    """The result of calling a module of torch.nn."""
    result = _call_layer(r, layer, args, keywords, node)
    for hook in layer.f.get("#hooks", ()):
        r.call(hook, [layer, Seq(args, kind="tuple"), result], {}, node)
    note_evaluation(r, layer, args, keywords, result, node)
    return result


def note_evaluation(
    r: Run, module: Layer | Instance, args: list[Value], keywords: dict[str, Value], result: Value, node: ast.AST
) -> None:
    """Leaves an event for a call in evaluation mode: what it was given, and what came of it."""
    if module.f.get(EVALUATED) is True:
        given = tuple(flow for value in (*args, *keywords.values()) for flow in flows(value))
        r.tell("evaluated", node, value=module, facts={"flows": tuple(flows(result)), "given": given, "on": r.mode.on})


def _call_layer(r: Run, layer: Layer, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    if layer.path in _WRAPPERS:
        return r.call(layer.f["module"], args, keywords, node)
    if layer.path == "torch.nn.Sequential":
        value: Value = args[0] if args else Unknown()
        entries = contents(layer)
        for part in (*entries.items, *([entries.rest] * 2 if entries.rest is not None else [])):
            value = call_entry(r, plain(part), value, node)
        return value
    return forward(r, layer.path, layer, args, keywords, node)


def call_entry(r: Run, part: Value, value: Value, node: ast.AST) -> Value:
    """What an entry of a ``Sequential`` makes of what the one before it gave."""
    result = r.call(part, [value], {}, node)
    if isinstance(part, Layer) and isinstance(result, Tensor) and result.flow.name == part.path:
        result.flow.layer = part.made
    return result


def forward(
    r: Run, path: str, owner: Layer | Instance, args: list[Value], keywords: dict[str, Value], node: ast.AST
) -> Value:
    """The result of a layer's own forward: computed from its inputs and its parameters."""
    given, side = sides(r, path, args, keywords)
    own: list[Flow] = []
    for _, tensor in named_parameters(owner):
        own.append(tensor.flow if tensor is not None else UNKNOWN_FLOW)
    result = computed(r, node, [*given, *own], side, name=path)
    asked = owner.f.get("#reduction")
    note_loss(r, path, args, {**keywords, "reduction": asked} if isinstance(asked, Value) else keywords, result, node)
    if not own and r.mode.on is False and path.endswith(_SAME_OR_VIEW) and result.flow.kind == "off":
        result = Tensor(Flow("op", MAYBE, node, r.frame, tuple(given), name=path), made=node)
    inplace = owner.f.get("#inplace")
    if inplace is not None and args and isinstance(first := plain(args[0]), Tensor):
        training = owner.f.get("#training", TRUE)
        if "Dropout" not in path or (isinstance(training, Const) and training.value):
            r.tell("written", inplace, tensors=(first,), flow=first.flow,
                   facts={"recording": bool(r.mode.on), "serial": result.flow.serial})  # fmt: skip
            r.write(first.f, "flow", result.flow)
    row = r.table.module(path)
    return shaped(r, row.outputs if row is not None else "y", result)


def shaped(r: Run, outputs: str, result: Tensor) -> Value:
    """The tensors of a call in the shape that the table gives: "(y, (y, y))"."""
    if outputs == "y":
        return result
    if outputs == "(y, y)":
        return Seq((result, Tensor(result.flow, made=result.made)), kind="tuple")
    state = Seq((Tensor(result.flow, made=result.made), Tensor(result.flow, made=result.made)), kind="tuple")
    return Seq((result, state), kind="tuple")


def named_modules(module: Value, prefix: str = "", seen: set[int] | None = None) -> Iterator[tuple[str, Value]]:
    """(dotted name, module) of a module and those inside it, each once."""
    seen = set() if seen is None else seen
    seen.add(id(module))
    yield prefix, module
    for name, value in children(module):
        if id(value) not in seen and (is_module(value) or isinstance(value, Unknown)):
            yield from named_modules(value, f"{prefix}.{name}" if prefix else name, seen)


def all_modules(module: Value) -> Iterator[Value]:
    """A module and those inside it."""
    yield from (found for _, found in named_modules(module))
