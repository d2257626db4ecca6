"""Attributes and methods of tensors."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gradwhy.static.flow import flags, gradients, operators
from gradwhy.static.flow.histories import MAYBE, NO, YES, Flow, Value
from gradwhy.static.flow.ops import by_row, computed, cut, fresh, note_reduced, sides
from gradwhy.static.flow.values import TRUE, Const, Method, Optional, Scalar, Seq, Tensor, Unknown, flows

if TYPE_CHECKING:
    from gradwhy.static.flow.run import Run

_VIEWS = frozenset({"T", "mT", "H", "mH", "real", "imag"})
_METADATA = frozenset({"dtype", "device", "ndim", "is_cuda", "is_cpu", "layout", "itemsize", "nbytes", "is_sparse"})
_SAME = frozenset({"to", "cpu", "float", "contiguous", "share_memory_", "pin_memory", "rename"})
_CONVERTS = frozenset({"cuda", "double", "half", "bfloat16", "type_as", "type"})
PARTS = frozenset({"split", "chunk", "unbind", "tensor_split", "hsplit", "vsplit", "dsplit", "split_with_sizes",
                   "unsafe_split", "unsafe_chunk", "meshgrid", "broadcast_tensors", "aminmax", "std_mean", "var_mean",
                   "svd", "qr", "eig", "eigh", "gradient", "svd_lowrank", "pca_lowrank", "atleast_1d"})  # fmt: skip


def attribute(r: Run, owner: Tensor, name: str, node: ast.AST) -> Value:
    """``tensor.name``."""
    flow = owner.flow
    if name == "grad":
        found = owner.f.get("#grad")
        if not isinstance(found, Tensor):
            found = Tensor(cut(r, node, [flow], "create_graph-missing"), made=node)
            found.f["#grad of"] = owner
            r.write(owner.f, "#grad", found)
        r.tell("grad-read", node, tensors=(owner,), flow=flow)
        return Optional(found)
    if name == "data":
        return _same_memory(Tensor(cut(r, node, [flow], "data-attribute"), made=node), owner)
    if name == "requires_grad":
        return Scalar() if flow.grad == MAYBE else Const(flow.grad == YES)
    if name == "is_leaf":
        return Scalar() if flow.kind in ("unknown", "join") else Const(flow.grad == NO or flow.kind == "leaf")
    if name == "grad_fn":
        return Const(None) if flow.grad == NO or flow.kind == "leaf" else Unknown(node)
    if name == "shape":
        return Seq((), Scalar(), "tuple")
    if name in _METADATA:
        return Scalar()
    if name in _VIEWS:
        return computed(r, node, [flow], name="torch.Tensor.t")
    found = owner.f.get(name)
    return found if isinstance(found, Value) else Method(owner, name)


def _same_memory(view: Tensor, owner: Tensor) -> Tensor:
    view.f["#memory"] = owner.f.get("#memory", owner)
    return view


def call(r: Run, owner: Tensor, name: str, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    """``tensor.name(...)``."""
    special = _SPECIAL.get(name)
    if special is not None:
        return special(r, owner, args, keywords, node)
    if name in _SAME and not (name == "to" and _has_dtype(args, keywords)):
        return owner
    full = f"torch.Tensor.{name}"
    everything = [owner, *args]
    given, side = sides(r, full, everything, keywords)
    if name in ("numpy", "__array__") and owner.flow.grad != NO:
        r.tell("numpy", node, flow=owner.flow, tensors=(owner,))
    row = r.table.op(full)
    if row is not None and row.effect == "leaves" and (behind := _detached_for(owner.flow, node)) is not None:
        # x.detach().numpy(): the detach is there for the array.
        given = list(behind)
    if row is not None and full in r.table.names_of(row):
        stand_in: list[Value] = [Tensor(flow) for flow in given] if row.effect == "leaves" else everything
        result = by_row(r, row, full, stand_in, keywords, node, side)
        if result is not None:
            if isinstance(result, Tensor) and row.effect == "detaches":
                return _same_memory(result, owner)
            if name.endswith("_") and isinstance(result, Tensor):
                operators.in_place(r, owner, args, node)
                return owner
            return result
    if name.endswith("_") and not name.startswith("_"):
        operators.in_place(r, owner, [*args, *keywords.values()], node)
        flags.set_zero(r, owner, name == "zero_" or (name == "fill_" and flags.is_nought(args, keywords)), node)
        if name == "zero_" and isinstance(of := owner.f.get("#grad of"), Tensor):
            r.tell("grad-set", node, tensors=(of,), value=Const(None))
        return owner
    if name.startswith("new_"):
        return fresh(r, node, keywords)
    if name in PARTS:
        return Seq((), computed(r, node, given, side, name=full), "tuple")
    if row is not None or r.table.keeps(full) or name in _CONVERTS:
        result = computed(r, node, given, side, name=full)
        note_reduced(r, name, len(everything) + len(keywords), result, node)
        return result
    return Unknown(node)


def _detached_for(flow: Flow, node: ast.AST) -> tuple[Flow, ...] | None:
    """What a value was detached from in the same expression that takes it out of torch."""
    if flow.kind != "cut" or flow.cause not in ("detach", "data-attribute"):
        return None
    inner: ast.AST | None = node
    while inner is not None and inner is not flow.at:
        inner = inner.func if isinstance(inner, ast.Call) else inner.value if isinstance(inner, ast.Attribute) else None
    return flow.inputs if inner is flow.at else None


def _has_dtype(args: list[Value], keywords: dict[str, Value]) -> bool:
    from gradwhy.static.flow.ops import dtype_of

    return any(dtype_of(value) is not None for value in (*args, *keywords.values()))


def _requires_grad(r: Run, owner: Tensor, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    value = args[0] if args else keywords.get("requires_grad", TRUE)
    flags.set_flag(r, owner, value, node)
    return owner


def _backward(r: Run, owner: Tensor, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    gradients.backward(r, owner, args, keywords, node)
    return Const(None)


def _detach_in_place(r: Run, owner: Tensor, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    r.write(owner.f, "flow", cut(r, node, [owner.flow], "detach"))
    return owner


def _nothing(r: Run, owner: Tensor, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    return Unknown(node)


def _number(r: Run, owner: Tensor, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    return Scalar()


def _size(r: Run, owner: Tensor, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    return Scalar() if args or keywords else Seq((), Scalar(), "tuple")


def _retain(r: Run, owner: Tensor, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    r.tell("retain-grad", node, tensors=(owner,))
    r.write(owner.f, "#retained", True)
    return Const(None)


def _apply(r: Run, owner: Tensor, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    return Tensor(Flow("unknown", MAYBE, node, r.frame, tuple(flows(owner))))


_SPECIAL = {
    "requires_grad_": _requires_grad,
    "backward": _backward,
    "detach_": _detach_in_place,
    "register_hook": _nothing,
    "retain_grad": _retain,
    "size": _size,
    "dim": _number,
    "numel": _number,
    "apply_": _apply,
}
