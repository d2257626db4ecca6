"""What a loop, a comprehension or an unpacking gets from a value, one item after the other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradwhy.static.flow.histories import Value
from gradwhy.static.flow.joining import element, join_all
from gradwhy.static.flow.loading import Loader, batches
from gradwhy.static.flow.values import (
    Array,
    Const,
    Data,
    Instance,
    Layer,
    Mapping,
    Parameters,
    Scalar,
    Seq,
    Tensor,
    Unknown,
    plain,
)

if TYPE_CHECKING:
    from gradwhy.static.flow.run import Run

_MOST = 6
_MOST_PARAMETERS = 300


def iterations(r: Run, value: Value, node: ast.AST) -> tuple[list[Value], bool]:
    """The items of a loop's passes, and whether these are all passes. An unknown number of passes is shown by two."""
    value = plain(value)
    if isinstance(value, Const) and isinstance(value.value, (str, tuple)):
        value = Seq([Const(part) for part in value.value])
    if isinstance(value, Mapping):
        keys: list[Value] = [Const(key) for key in value.items]
        value = Seq(keys, Unknown() if value.rest is not None else None)
    if isinstance(value, Layer):
        from gradwhy.static.flow import layers

        value = layers.contents(value)
    if isinstance(value, Loader):
        value = batches(r, value)
    if isinstance(value, Seq):
        return _of_sequence(value)
    if isinstance(value, Instance):
        value = _of_instance(r, value, node)
        if isinstance(value, Seq):
            return _of_sequence(value)
    one = item_of(r, value, node)
    return [one, item_of(r, value, node)], False


def _of_sequence(seq: Seq) -> tuple[list[Value], bool]:
    most = _MOST_PARAMETERS if isinstance(seq, Parameters) else _MOST
    if len(seq.items) > most:
        whole = element(seq)
        return [whole, whole], False
    if seq.rest is None:
        return list(seq.items), True
    few = seq.items[:2]
    return ([*few, seq.rest, seq.rest][:2] if len(few) < 2 else [*seq.items, seq.rest]), False


def _of_instance(r: Run, value: Instance, node: ast.AST) -> Value:
    for name, args in (("__iter__", []), ("__getitem__", [Scalar()])):
        found = value.cls.find(name)
        if found is not None:
            given = plain(r.call(found[0], [value, *args], {}, node))
            if name == "__iter__":
                return given
            return Seq((), given)
    return value


def item_of(r: Run, value: Value, node: ast.AST) -> Value:
    """One item of something that is not a sequence of known items."""
    value = plain(value)
    if isinstance(value, Tensor):
        return part_of(r, value, node)
    if isinstance(value, (Data, Array)):
        return value
    if isinstance(value, Seq):
        return element(value)
    if isinstance(value, Mapping):
        return join_all([*value.items.values(), *([value.rest] if value.rest is not None else [])])
    if isinstance(value, (Scalar, Const)):
        return Scalar(value.flow if isinstance(value, Scalar) else None)
    return Unknown()


def part_of(r: Run, value: Tensor, node: ast.AST) -> Tensor:
    """An item of a tensor: a view of it."""
    from gradwhy.static.flow.ops import computed

    return computed(r, node, [value.flow], name="torch.Tensor.unbind")


def unpacked(r: Run, target: ast.Tuple | ast.List, value: Value) -> Iterator[tuple[ast.expr, Value]]:
    """The parts of a pattern with what each is given."""
    value = plain(value)
    parts = target.elts
    star = next((i for i, part in enumerate(parts) if isinstance(part, ast.Starred)), None)
    if isinstance(value, Const) and isinstance(value.value, (tuple, str)):
        value = Seq([Const(part) for part in value.value])
    if isinstance(value, Mapping):
        value = Seq([Const(key) for key in value.items], Unknown() if value.rest is not None else None)
    if isinstance(value, Instance):
        value = _of_instance(r, value, target)
    if not isinstance(value, Seq):
        for part in parts:
            one = item_of(r, value, target)
            yield part, Seq((), one) if isinstance(part, ast.Starred) else one
        return
    items = list(value.items)
    if star is None:
        for index, part in enumerate(parts):
            if index < len(items):
                yield part, items[index]
            else:
                yield part, value.rest if value.rest is not None else Unknown()
        return
    after = len(parts) - star - 1
    if value.rest is not None or len(items) < len(parts) - 1:
        whole = element(value)
        for part in parts:
            yield part, Seq((), whole) if isinstance(part, ast.Starred) else whole
        return
    yield from zip(parts[:star], items[:star])
    yield parts[star], Seq(items[star : len(items) - after])
    if after:
        yield from zip(parts[star + 1 :], items[-after:])
