"""Operators on values: arithmetic, comparisons, and the writes that change a tensor in place."""

from __future__ import annotations

import ast
import operator
from typing import TYPE_CHECKING, Any

from gradwhy.static.flow.flags import set_zero
from gradwhy.static.flow.histories import NO, YES, Flow, Value, now
from gradwhy.static.flow.joining import element, join
from gradwhy.static.flow.ops import computed, computed_flow, cut
from gradwhy.static.flow.truth import is_none, truth
from gradwhy.static.flow.values import (
    Array,
    Const,
    Data,
    Instance,
    Library,
    Mapping,
    Scalar,
    Seq,
    Tensor,
    Unknown,
    flows,
    plain,
)

if TYPE_CHECKING:
    from gradwhy.static.flow.run import Run

_ARITHMETIC: dict[type[ast.operator], Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_COMPARED: dict[type[ast.cmpop], Any] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
_DUNDERS: dict[type[ast.operator], str] = {
    ast.Add: "__add__", ast.Sub: "__sub__", ast.Mult: "__mul__", ast.Div: "__truediv__", ast.MatMult: "__matmul__",
    ast.Pow: "__pow__",
}  # fmt: skip
_LONGEST = 10_000


def binary(r: Run, left: Value, right: Value, node: ast.BinOp | ast.AugAssign) -> Value:
    """``left op right``."""
    left, right = plain(left), plain(right)
    kind = type(node.op)
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        given = [flow for v in (left, right) for flow in flows(v)]
        if kind is ast.FloorDiv:
            return computed(r, node, given, cause="rounding")
        made = computed(r, node, given, name=_DUNDERS.get(kind, "").strip("_"))
        if kind is ast.Add and made.flow.grad == YES:
            r.sums.append(made.flow)
        return made
    if isinstance(left, Const) and isinstance(right, Const):
        return _constants(left.value, right.value, kind)
    if isinstance(left, Seq) and isinstance(right, Seq) and kind is ast.Add:
        return Seq(
            (*left.items, *right.items) if left.rest is None else left.items,
            right.rest if left.rest is None else join(left.rest, element(right)) if right.items else left.rest,
            left.kind,
        )
    if isinstance(left, Seq) and kind is ast.Mult:
        return Seq((), element(left), left.kind) if left.items or left.rest is not None else left
    if isinstance(left, Array) or isinstance(right, Array):
        return Array(history(r, node, left, right) or Flow("plain", NO))
    if isinstance(left, (Scalar, Const)) and isinstance(right, (Scalar, Const)):
        return Scalar(history(r, node, left, right))
    if any(isinstance(v, Library) for v in (left, right)) and all(
        isinstance(v, (Library, Scalar, Const)) for v in (left, right)
    ):
        return Scalar()
    if isinstance(left, Instance) and (found := left.cls.find(_DUNDERS.get(kind, ""))) is not None:
        return r.call(found[0], [left, right], {}, node)
    if isinstance(left, Data) and isinstance(right, (Data, Const, Scalar)):
        return left
    if isinstance(right, Data) and isinstance(left, (Const, Scalar)):
        return right
    if kind is ast.Mod and isinstance(left, Const) and isinstance(left.value, str):
        return Scalar()
    return Unknown(node)


def history(r: Run, node: ast.AST, *values: Value) -> Flow | None:
    """Numbers and arrays computed from tensors' values remember them."""
    given = tuple(dict.fromkeys(flow for value in values for flow in flows(value)))
    if not given:
        return None
    return given[0] if len(given) == 1 else Flow("op", NO, node, r.frame, given)


def _constants(left: Any, right: Any, kind: type[ast.operator]) -> Value:
    function = _ARITHMETIC.get(kind)
    if function is None or left is None or right is None:
        return Scalar()
    if kind is ast.Mult and not (isinstance(left, (int, float)) and isinstance(right, (int, float))):
        return Scalar()
    try:
        result = function(left, right)
    except Exception:
        return Scalar()
    return Const(result) if not isinstance(result, str) or len(result) < _LONGEST else Scalar()


def unary(r: Run, value: Value, node: ast.UnaryOp) -> Value:
    value = plain(value)
    if isinstance(node.op, ast.Not):
        known = truth(r, value)
        return Scalar() if known is None else Const(not known)
    if isinstance(value, Const) and isinstance(value.value, (int, float)):
        if isinstance(node.op, ast.USub):
            return Const(-value.value)
        return value if isinstance(node.op, ast.UAdd) else Scalar()
    if isinstance(value, Tensor):
        if isinstance(node.op, ast.Invert):
            return Tensor(cut(r, node, [value.flow], "comparison"), made=node)
        return computed(r, node, [value.flow], name="neg")
    if isinstance(value, (Array, Scalar, Data)):
        return value
    return Unknown(node)


def compare(r: Run, left: Value, right: Value, op: ast.cmpop, node: ast.AST) -> Value:
    """One comparison of a chain."""
    if isinstance(op, (ast.Is, ast.IsNot)):
        return _identity(left, right, isinstance(op, ast.Is))
    left, right = plain(left), plain(right)
    if isinstance(op, (ast.In, ast.NotIn)):
        known = _contains(left, right)
        return Scalar() if known is None else Const(known is isinstance(op, ast.In))
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        given = [flow for value in (left, right) for flow in flows(value)]
        return Tensor(cut(r, node, given, "comparison"), made=node)
    if isinstance(left, Const) and isinstance(right, Const):
        try:
            return Const(bool(_COMPARED[type(op)](left.value, right.value)))
        except Exception:
            return Scalar()
    if isinstance(left, Library) and isinstance(right, Library) and left.path == right.path:
        return Const(isinstance(op, ast.Eq))
    if isinstance(left, (Array, Data)) or isinstance(right, (Array, Data)):
        return left if isinstance(left, (Array, Data)) else right
    if isinstance(left, (Scalar, Const)) and isinstance(right, (Scalar, Const)):
        return Scalar()
    return Unknown(node)


def _identity(left: Value, right: Value, same: bool) -> Value:
    for one, other in ((left, right), (right, left)):
        if isinstance(other, Const) and other.value is None:
            known = is_none(one)
            return Scalar() if known is None else Const(known is same)
    if isinstance(left, Const) and isinstance(right, Const):
        return Const((left.value is right.value) is same)
    return Scalar()


def _contains(item: Value, container: Value) -> bool | None:
    if isinstance(item, Const) and isinstance(container, Const):
        try:
            return bool(item.value in container.value)
        except TypeError:
            return None
    if isinstance(item, Const) and isinstance(container, Mapping) and container.rest is None:
        try:
            return item.value in container.items
        except TypeError:
            return None
    if isinstance(item, Const) and isinstance(container, Seq) and container.rest is None:
        if all(isinstance(part, Const) for part in container.items):
            return any(isinstance(part, Const) and part.value == item.value for part in container.items)
    return None


def in_place(r: Run, tensor: Tensor, values: list[Value], node: ast.AST, op: type[ast.operator] | None = None) -> bool:
    """A tensor is changed in place by ``values``; False where torch refuses."""
    before = tensor.flow
    recording = bool(r.mode.on)
    if before.kind in ("leaf", "unknown") and before.owner is not None and recording:
        r.tell("inplace", node, flow=before, tensors=(tensor,), facts={"owner": before.owner})
        if before.grad == YES:
            return True
    r.tell("written", node, tensors=(tensor,), flow=before, facts={"recording": recording, "serial": now()})
    set_zero(r, tensor, False, node)
    if not recording:
        return True
    given = (before, *(flow for value in values for flow in flows(value)))
    new = tuple(dict.fromkeys(given))
    if len(new) > 1 or before.grad != NO:
        made = computed_flow(r, node, new, name=_DUNDERS.get(op, "").strip("_") if op else "")
        r.write(tensor.f, "flow", made)
        if op is ast.Add:
            r.sums.append(made)
    return True


def write_into(r: Run, tensor: Tensor, values: list[Value], node: ast.AST) -> None:
    """``tensor[...] = value``."""
    in_place(r, tensor, values, node)
