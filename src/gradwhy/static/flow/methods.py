"""Attributes and methods of every kind of value."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gradwhy.static.flow import containers, declared, gradients, layers, module_methods, optimizers, scaling, tensors
from gradwhy.static.flow.histories import NO, GradMode, Value
from gradwhy.static.flow.imports import filed, name_in
from gradwhy.static.flow.ops import computed, cut
from gradwhy.static.flow.values import (
    TRUE,
    Array,
    Bound,
    Class,
    Const,
    Data,
    Distribution,
    Function,
    Imported,
    Instance,
    Layer,
    Library,
    Mapping,
    Method,
    Optimizer,
    Scalar,
    Seq,
    Super,
    Tensor,
    Unknown,
    flows,
    is_module,
    plain,
)

if TYPE_CHECKING:
    from gradwhy.static.flow.run import Run

_MODULE_ONLY = frozenset({"parameters", "named_parameters", "children", "named_children", "modules", "named_modules"})


def attribute(r: Run, owner: Value, name: str, node: ast.AST) -> Value:
    """``owner.name``."""
    owner = plain(owner)
    if isinstance(owner, Library):
        return Library(filed(f"{owner.path}.{name}"))
    if isinstance(owner, Imported):
        return name_in(r, owner, name, node)
    if isinstance(owner, Tensor):
        return tensors.attribute(r, owner, name, node)
    if isinstance(owner, Instance):
        return _of_instance(r, owner, name, node)
    if isinstance(owner, (Layer, Unknown)):
        found = owner.f.get(name)
        if isinstance(found, Value):
            return found
        if isinstance(owner, Layer):
            return (
                owner.f.get("#training", TRUE)
                if name == "training"
                else Scalar()
                if name.endswith("features")
                else Method(owner, name)
            )
        made = Unknown(node)
        if name not in ("shape", "device", "dtype"):
            owner.f.setdefault(f"#{name}", made)
            made = owner.f[f"#{name}"]
        return made
    if isinstance(owner, Class):
        member = owner.find(name)
        if member is None:
            return Method(owner, name) if name == "apply" else Unknown(node)
        if isinstance(member[0], Function) and member[0].static == "classmethod":
            return Bound(member[0], owner)
        return member[0]
    if isinstance(owner, Super):
        return Method(owner, name)
    if isinstance(owner, Seq) and name in owner.fields:
        return owner.items[owner.fields.index(name)]
    if isinstance(owner, Data) and name in ("requires_grad", "grad", "data", "grad_fn", "is_leaf", "T"):
        return tensors.attribute(r, owner.tensor, name, node)
    if isinstance(owner, (Array, Data)):
        return Scalar() if name in ("shape", "size", "ndim") else owner if name == "T" else Method(owner, name)
    if isinstance(owner, Optimizer) and name == "param_groups":
        group = Mapping({"params": Seq(owner.f["params"])}, Scalar())
        return Seq((), group)
    if isinstance(owner, Distribution):
        return (
            computed(r, node, [owner.flow])
            if name in ("mean", "variance", "stddev", "probs", "logits", "loc", "scale")
            else Method(owner, name)
        )
    if isinstance(owner, (Seq, Mapping, Const, Scalar, Optimizer)):
        return Method(owner, name)
    return Unknown(node)


def _of_instance(r: Run, owner: Instance, name: str, node: ast.AST) -> Value:
    found = owner.f.get(name)
    if isinstance(found, Value):
        return found
    member = owner.cls.find(name)
    if member is not None:
        value = member[0]
        if isinstance(value, Function):
            if value.prop:
                return r.call(value, [owner], {}, node)
            if value.static == "staticmethod":
                return value
            return Bound(value, owner.cls if value.static == "classmethod" else owner)
        return value
    if owner.is_module and name == "training":
        training: Value = owner.f.get("#training", TRUE)
        return training
    if owner.is_module and name not in ("device", "dtype", "hparams", "trainer", "logger", "config"):
        return Method(owner, name)
    if owner.cls.base and not owner.is_module:
        return Unknown(node)
    # Set somewhere that was not seen: it is kept, so that the same name stays the same thing.
    made = Unknown(node)
    owner.f[f"#unseen {name}"] = made
    return made


def call(r: Run, owner: Value, name: str, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    """``owner.name(...)``."""
    owner = plain(owner)
    if isinstance(owner, Tensor):
        return tensors.call(r, owner, name, args, keywords, node)
    if isinstance(owner, Instance):
        own = owner.f.get(name)
        if isinstance(own, Value):
            return r.call(own, args, keywords, node)
        member = owner.cls.find(name)
        if member is not None:
            target = _of_instance(r, owner, name, node)
            return r.call(target, args, keywords, node)
        if owner.is_module:
            return module_methods.call(r, owner, name, args, keywords, node)
        return _unknown(r, owner, name, args, keywords, node)
    if isinstance(owner, Layer):
        own = owner.f.get(name)
        if isinstance(own, Value):
            return r.call(own, args, keywords, node)
        return module_methods.call(r, owner, name, args, keywords, node)
    if isinstance(owner, Super):
        return _super(r, owner, name, args, keywords, node)
    if isinstance(owner, Optimizer):
        return optimizers.call(r, owner, name, args, keywords, node)
    if isinstance(owner, (Seq, Mapping, Const, Scalar)):
        return containers.call(r, owner, name, args, keywords, node)
    if isinstance(owner, Distribution):
        return _distribution(r, owner, name, args, keywords, node)
    if isinstance(owner, Class):
        if name == "apply" and owner.base == "torch.autograd.Function":
            result = computed(r, node, [flow for value in args for flow in flows(value)])
            needs = tuple(any(flow.grad != NO for flow in flows(value)) for value in args)
            r.tell("applied", node, flow=result.flow, value=owner, facts={"needs": needs})
            return result
        return r.call(attribute(r, owner, name, node), args, keywords, node)
    if isinstance(owner, Array):
        return Scalar(owner.flow) if name in ("item", "tolist") else owner
    if isinstance(owner, Data):
        return _data(r, owner, name, args, keywords, node)
    if isinstance(owner, GradMode):
        return _by_hand(r, owner, name, node)
    if isinstance(owner, Library):
        return r.call(Library(filed(f"{owner.path}.{name}")), args, keywords, node)
    if isinstance(owner, Imported):
        return r.call(name_in(r, owner, name, node), args, keywords, node)
    return _unknown(r, owner, name, args, keywords, node)


def _by_hand(r: Run, owner: GradMode, name: str, node: ast.AST) -> Value:
    """``mode.__enter__()`` switches until ``mode.__exit__()`` is called."""
    if name == "__enter__":
        owner.before = r.mode
        r.write(r.state, "mode", GradMode(owner.on, "grad-mode-left-off", node, r.frame))
    elif name == "__exit__" and owner.before != "kept":
        r.write(r.state, "mode", owner.before)
    return Unknown(node)


def _data(r: Run, owner: Data, name: str, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    if name in ("to", "cuda", "cpu", "float", "pin_memory", "get", "pop", "copy"):
        return owner
    if name in ("items", "keys", "values"):
        return Seq((), Seq((Scalar(), owner), kind="tuple") if name == "items" else owner)
    full = f"torch.Tensor.{name}"
    if r.table.op(full) is not None or r.table.keeps(full) or name == "requires_grad_":
        return tensors.call(r, owner.tensor, name, args, keywords, node)
    return owner


def _distribution(
    r: Run, owner: Distribution, name: str, args: list[Value], keywords: dict[str, Value], node: ast.AST
) -> Value:
    given = [owner.flow, *(flow for value in args for flow in flows(value))]
    if name in ("sample", "sample_n"):
        return Tensor(cut(r, node, [owner.flow], "sampling"), made=node)
    if name in ("log_prob", "entropy", "rsample", "cdf", "icdf"):
        return computed(r, node, given)
    return Unknown(node)


def _super(r: Run, owner: Super, name: str, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    for base in owner.cls.bases:
        found = base.find(name)
        if found is not None:
            return r.call(found[0], [owner.receiver, *args], keywords, node)
    receiver = plain(owner.receiver)
    if isinstance(receiver, Instance):
        if name == "__init__":
            base_init(r, receiver, owner.cls.base, args, keywords, node)
            return Const(None)
        if name == "forward":
            return base_forward(r, receiver, args, keywords, node)
        if name == "__setattr__" and len(args) == 2 and isinstance(args[0], Const):
            r.write(receiver.f, str(args[0].value), args[1])
            return Const(None)
        if receiver.is_module:
            return module_methods.call(r, receiver, name, args, keywords, node)
    return Unknown(node)


def base_init(
    r: Run, receiver: Instance, base: str, args: list[Value], keywords: dict[str, Value], node: ast.AST
) -> None:
    """``__init__`` of a class of torch.nn for an object of a class that descends from it."""
    if base in layers.CONTAINERS:
        layers.fill(r, receiver.f, base, args)
        return
    row = r.table.module(base)
    if row is not None:
        layers.equip(r, receiver.f, row, args, keywords, node)


def base_forward(r: Run, receiver: Instance, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    """``forward`` of a class of torch.nn for an object of a class that descends from it."""
    base = receiver.cls.base
    if base == "torch.nn.Sequential":
        value: Value = args[0] if args else Unknown()
        for _, part in layers.children(receiver):
            if is_module(part):
                value = layers.call_entry(r, part, value, node)
        return value
    if r.table.module(base) is not None:
        return layers.forward(r, base, receiver, args, keywords, node)
    return Unknown(node)


def _unknown(r: Run, owner: Value, name: str, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    """A method of something that the file does not show."""
    known = declared.call_method(r, owner, name, args, keywords, node)
    if known is not None:
        return known
    if name in _MODULE_ONLY and isinstance(owner, Unknown):
        return module_methods.call(r, owner, name, args, keywords, node)
    if _goes_backward(name, node) and args and isinstance(loss := plain(args[0]), Tensor):
        # accelerator.backward(loss), fabric.backward(loss), self.manual_backward(loss)
        gradients.backward(r, loss, [], keywords, node)
        return Const(None)
    if name == "backward":
        r.tell("backward-unknown", node, facts={"scaled": isinstance(owner, Unknown) and "#scaled" in owner.f})
        return Const(None)
    if isinstance(owner, Unknown) and (result := scaling.call(r, owner, name, args, node)) is not None:
        return result
    if isinstance(owner, Unknown) and name in ("requires_grad_", "eval", "train", "to", "cuda", "cpu", "half", "float"):
        if name == "requires_grad_":
            return module_methods.call(r, owner, name, args, keywords, node)
        return owner
    if name in _HARMLESS:
        return Unknown(node)
    for value in (*args, *keywords.values()):
        layers.escape(r, value)
    return Unknown(node)


def _goes_backward(name: str, node: ast.AST) -> bool:
    """``accelerator.backward(loss)`` and its like; ``out.backward(gradient)`` is another thing."""
    if name == "manual_backward":
        return True
    owner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    last = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
    return name == "backward" and any(
        part in last.lower() for part in ("accelerat", "fabric", "engine", "booster", "strategy")
    )


# Methods of loggers, progress bars, loaders and the like: they read what they are given.
_HARMLESS = frozenset({
    "log", "log_dict", "add_scalar", "add_scalars", "add_graph", "add_histogram", "add_image", "info", "debug", "warning",
    "error", "write", "writerow", "update", "append", "set_postfix", "set_description", "watch", "print", "format", "save",
    "join", "plot", "show", "get", "keys", "items", "values", "close", "flush", "step", "size", "dump",
})  # fmt: skip
