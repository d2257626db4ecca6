"""Methods of nn.Module, on modules of the file, of torch.nn and of elsewhere."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gradwhy.static.flow import flags, gradients, layers
from gradwhy.static.flow.histories import PLAIN, Value
from gradwhy.static.flow.ops import cut
from gradwhy.static.flow.values import (
    NONE,
    TRUE,
    Const,
    Instance,
    Layer,
    Mapping,
    Parameters,
    Scalar,
    Seq,
    Tensor,
    Unknown,
    is_module,
    plain,
)

if TYPE_CHECKING:
    from gradwhy.static.flow.run import Run

_SELF = frozenset(
    {"to", "cuda", "cpu", "half", "float", "double", "bfloat16", "type", "xpu", "to_empty", "share_memory"}
)
_QUIET = frozenset({"log", "log_dict", "save_hyperparameters", "extra_repr", "register_full_backward_hook", "print",
                    "register_forward_pre_hook", "register_backward_hook", "compile", "toggle_optimizer", "freeze"})  # fmt: skip


def call(r: Run, owner: Value, name: str, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    """``module.name(...)``."""
    if name in ("parameters", "named_parameters"):
        given = parameters(r, owner, name)
        if name == "named_parameters":
            known = bool(given.items) and given.rest is None and not isinstance(owner, Unknown)
            named = all(isinstance(item, Seq) and isinstance(item.items[0], Const) for item in given.items)
            r.tell("named-parameters", node, value=owner, facts={"complete": known and named})
        return given
    if name == "requires_grad_":
        value = args[0] if args else keywords.get("requires_grad", TRUE)
        for _, tensor in layers.parameters(r, owner)[0]:
            flags.set_flag(r, tensor, value, node)
        return owner
    if name in _SELF:
        return owner
    if name in ("train", "eval"):
        mode = args[0] if args else keywords.get("mode", TRUE)
        training: Value = Const(False) if name == "eval" else mode
        r.tell("train-mode", node, value=owner, facts={"training": training})
        if isinstance(owner, (Instance, Layer)):
            r.write(owner.f, layers.EVALUATED, isinstance(training, Const) and not training.value)
        for module in layers.all_modules(owner):
            if isinstance(module, (Instance, Layer)):
                r.write(module.f, "#training", training)
        return owner
    if name in ("children", "modules", "named_children", "named_modules"):
        return _modules(owner, name)
    if name == "zero_grad":
        tensors = tuple(tensor for _, tensor in layers.parameters(r, owner)[0])
        r.tell("zero_grad", node, tensors=tensors)
        return NONE
    if name in ("forward", "__call__"):
        return r.call(owner, args, keywords, node)
    if name == "state_dict":
        found, complete = layers.parameters(r, owner)
        kept = {path: Tensor(cut(r, node, [tensor.flow], "detach"), made=node) for path, tensor in found}
        for path, tensor in found:
            kept[path].f["#memory"] = tensor
        return Mapping(dict(kept), None if complete else Tensor(PLAIN))
    if name in ("buffers", "named_buffers"):
        return Seq((), Tensor(PLAIN))
    if name in ("load_state_dict", "to_empty"):
        for _, tensor in layers.parameters(r, owner)[0]:
            flags.set_zero(r, tensor, False, node)
        return Unknown(node)
    if name == "apply" and args:
        for module in [owner, *(m for m in layers.all_modules(owner) if m is not owner)]:
            r.call(args[0], [module], {}, node)
        return owner
    if name in ("add_module", "register_module", "register_parameter", "register_buffer") and len(args) > 1:
        if isinstance(args[0], Const) and hasattr(owner, "f"):
            r.write(owner.f, str(args[0].value), args[1])
        return NONE
    if name in ("append", "extend", "insert", "update"):
        return _grow(r, owner, name, args)
    if name == "register_forward_hook" and args and isinstance(owner, (Instance, Layer)):
        r.write(owner.f, "#hooks", (*owner.f.get("#hooks", ()), args[0]))
        return Unknown(node)
    if name in ("items", "keys", "values") and isinstance(owner, Layer):
        return _entries(owner, name)
    if name == "manual_backward" and args and isinstance(loss := plain(args[0]), Tensor):
        gradients.backward(r, loss, [], keywords, node)
        return NONE
    if name == "get_submodule" and args:
        inner = dict(layers.named_modules(owner)).get(str(args[0].value)) if isinstance(args[0], Const) else None
        if inner is None:
            # One of them; whatever is done to it may be done to any.
            layers.escape(r, owner)
        return inner if inner is not None else Unknown(node)
    if name in _QUIET or name.startswith("register_"):
        return Unknown(node)
    for value in (*args, *keywords.values()):
        layers.escape(r, value)
    if isinstance(owner, Instance):
        # A method of a base class that the file does not show: it may do anything to the module.
        if owner.cls.base not in ("torch.nn.Module",):
            layers.escape(r, owner)
    return Unknown(node)


def parameters(r: Run, owner: Value, name: str) -> Parameters:
    found, complete = layers.parameters(r, owner)
    items: list[Value] = []
    for path, tensor in found:
        known = Const(path) if path and not path.startswith(".") and ".." not in path and "#" not in path else Scalar()
        items.append(Seq((known, tensor), kind="tuple") if name == "named_parameters" else tensor)
    rest: Value | None = None
    if not complete:
        rest = Seq((Scalar(), Unknown()), kind="tuple") if name == "named_parameters" else Unknown()
        if isinstance(owner, Unknown):
            rest = None
    return Parameters(owner, items, rest)


def _modules(owner: Value, name: str) -> Seq:
    named = name.startswith("named")
    if name.endswith("children"):
        pairs = [
            (key, value) for key, value in layers.children(owner) if is_module(value) or isinstance(value, Unknown)
        ]
    else:
        pairs = list(layers.named_modules(owner))
    items = [Seq((Const(k), v), kind="tuple") if named else v for k, v in pairs]
    rest = Unknown() if isinstance(owner, Unknown) else None
    return Parameters(owner, items, Seq((Scalar(), rest), kind="tuple") if rest is not None and named else rest)


def _grow(r: Run, owner: Value, name: str, args: list[Value]) -> Value:
    if not isinstance(owner, (Layer, Instance)):
        return Unknown()
    given = plain(args[-1]) if args else Unknown()
    if name == "append":
        count = sum(1 for key in owner.f if isinstance(key, str) and key.isdigit())
        r.write(owner.f, str(count), given)
    elif isinstance(given, Mapping):
        for key, value in given.items.items():
            r.write(owner.f, str(key), value)
    else:
        r.write(
            owner.f,
            "#rest",
            given.rest or (given.items[0] if given.items else Unknown()) if isinstance(given, Seq) else given,
        )
    return owner


def _entries(owner: Layer, name: str) -> Seq:
    pairs = [(key, value) for key, value in layers.children(owner)]
    if name == "keys":
        return Seq([Const(key) for key, _ in pairs])
    if name == "values":
        return Seq([value for _, value in pairs])
    return Seq([Seq((Const(key), value), kind="tuple") for key, value in pairs])
