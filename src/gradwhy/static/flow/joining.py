"""The value that stands for one of several: what is known of all of them."""

from __future__ import annotations

from typing import Any

from gradwhy.static.flow.frames import Stepped
from gradwhy.static.flow.histories import ALL, MAYBE, PLAIN, Flow, GradMode, Value
from gradwhy.static.flow.trail import MISSING, distinct
from gradwhy.static.flow.values import (
    Array,
    Const,
    Instance,
    Layer,
    Mapping,
    Optional,
    Scalar,
    Seq,
    Tensor,
    Unknown,
    plain,
)

_DEPTH = 3


def join_slot(values: list[Any]) -> Any:
    """Joins what a slot of the state holds: values, histories, tuples of values. A slot that one path never set is set."""
    found = distinct(value for value in values if value is not MISSING)
    if not found:
        return MISSING
    if len(found) == 1:
        return None if isinstance(found[0], Stepped) and MISSING in values else found[0]
    if any(isinstance(value, Stepped) for value in found):
        # Stepped on one path and not, or elsewhere, on another.
        return None
    result = found[0]
    for other in found[1:]:
        result = _two(result, other)
    return result


def _two(a: Any, b: Any) -> Any:
    if isinstance(a, Flow) and isinstance(b, Flow):
        return join_flows(a, b)
    if isinstance(a, GradMode) and isinstance(b, GradMode):
        return a if a.on == b.on else GradMode(None, a.cause, a.at, a.frame)
    if isinstance(a, Value) and isinstance(b, Value):
        return join(a, b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        # Items of a sequence: the longer one; what only one path has put there may be there.
        longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
        return (*(join(x, y) for x, y in zip(longer, shorter)), *longer[len(shorter) :])
    if isinstance(a, dict) and isinstance(b, dict):
        return {k: join(a[k], b[k]) if k in a and k in b else a.get(k, b.get(k)) for k in {**a, **b}}
    if isinstance(a, frozenset) and isinstance(b, frozenset):
        return a | b
    if isinstance(a, bool) and isinstance(b, bool):
        return a and b
    if a is None or b is None:
        return b if a is None else a
    return a


def join_flows(a: Flow, b: Flow) -> Flow:
    if a is b:
        return a
    return Flow("join", a.grad if a.grad == b.grad else MAYBE, a.at, a.frame, inputs=(a, b))


def join_all(values: list[Value]) -> Value:
    """One value for several; Unknown for none."""
    found = distinct(values)
    if not found:
        return Unknown()
    result: Value = found[0]
    for other in found[1:]:
        result = join(result, other)
    return result


def every(values: list[Value], depth: int = _DEPTH) -> Value:
    """One value for each of many in a list: whoever takes the whole list takes them all."""
    found = [plain(value) for value in distinct(values)]
    if len(found) == 1:
        return found[0]
    if all(isinstance(value, Tensor) for value in found):
        parts: list[Flow] = []
        for value in found:
            flow = value.flow  # type: ignore[attr-defined]
            parts.extend(flow.inputs if flow.name == ALL else (flow,))
        grads = {flow.grad for flow in parts}
        unique = tuple(dict.fromkeys(parts))
        return Tensor(Flow("join", grads.pop() if len(grads) == 1 else MAYBE, inputs=unique, name=ALL))
    first = found[0]
    if (
        depth
        and isinstance(first, Seq)
        and all(isinstance(v, Seq) and len(v.items) == len(first.items) and v.rest is None for v in found)
    ):
        rows = zip(*(v.items for v in found))  # type: ignore[attr-defined]
        return Seq([every(list(row), depth - 1) for row in rows], None, first.kind, first.fields)
    return join_all(values)


def join(a: Value, b: Value, depth: int = _DEPTH) -> Value:
    if a is b:
        return a
    if isinstance(a, Const) and isinstance(b, Const):
        if type(a.value) is type(b.value) and a.value == b.value:
            return a
        return Scalar() if a.value is not None and b.value is not None else Unknown()
    if isinstance(a, Optional) or isinstance(b, Optional):
        return optional(join(plain(a), plain(b), depth))
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Const) and one.value is None:
            return optional(other)
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return Tensor(join_flows(a.flow, b.flow), a.parameter and b.parameter, made=a.made)
    if isinstance(a, Tensor) and isinstance(b, (Const, Scalar)):
        return Tensor(join_flows(a.flow, _number_flow(b)))
    if isinstance(b, Tensor) and isinstance(a, (Const, Scalar)):
        return Tensor(join_flows(b.flow, _number_flow(a)))
    if isinstance(a, (Scalar, Const)) and isinstance(b, (Scalar, Const)):
        first, second = (v.flow if isinstance(v, Scalar) else None for v in (a, b))
        return Scalar(join_flows(first, second) if first and second else first or second)
    if isinstance(a, Array) and isinstance(b, Array):
        return Array(join_flows(a.flow, b.flow))
    if depth and isinstance(a, Seq) and isinstance(b, Seq) and a.kind == b.kind:
        return _sequences(a, b, depth)
    if depth and isinstance(a, Mapping) and isinstance(b, Mapping):
        keys = {**a.items, **b.items}
        items = {k: join(a.items[k], b.items[k], depth - 1) if k in a.items and k in b.items else keys[k] for k in keys}
        return Mapping(items, _rest([v for v in (a.rest, b.rest) if v is not None], depth))
    return Unknown()


def optional(value: Value) -> Value:
    """The value or None."""
    if isinstance(value, (Tensor, Seq, Mapping, Instance, Layer, Array)):
        return Optional(value)
    return Unknown()


def _sequences(a: Seq, b: Seq, depth: int) -> Seq:
    if len(a.items) == len(b.items):
        items = tuple(join(x, y, depth - 1) for x, y in zip(a.items, b.items))
        return Seq(items, _rest([v for v in (a.rest, b.rest) if v is not None], depth), a.kind, a.fields)
    every = [*a.items, *b.items, *(v for v in (a.rest, b.rest) if v is not None)]
    return Seq((), _rest(every, depth), a.kind)


def _rest(values: list[Value], depth: int) -> Value | None:
    if not values:
        return None
    result = values[0]
    for value in values[1:]:
        result = join(result, value, depth - 1)
    return result


def element(seq: Seq) -> Value:
    """One value for any element of a sequence."""
    values = [*seq.items, *((seq.rest,) if seq.rest is not None else ())]
    return join_all(values)


def _number_flow(value: Const | Scalar) -> Flow:
    return (value.flow if isinstance(value, Scalar) else None) or PLAIN
