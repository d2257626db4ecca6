"""The parts of the state that can be reached from names: what belongs to a file."""

from __future__ import annotations

from collections.abc import Callable

from gradwhy.static.flow.histories import Fields, Value
from gradwhy.static.flow.values import Bound, Class, Function, Imported, Optional, Partial

_AT_MOST = 20_000


def reached(names: Fields, others: Callable[[Fields], bool]) -> list[Fields]:
    """The dicts of the state behind ``names``, these included; those of ``others`` are passed by."""
    found: dict[int, Fields] = {}
    todo: list[object] = [names]
    seen: set[int] = set()
    while todo and len(seen) < _AT_MOST:
        part = todo.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, dict):
            if others(part):
                continue
            found[id(part)] = part
            todo += [value for value in part.values() if isinstance(value, (Value, dict, tuple))]
        elif isinstance(part, tuple):
            todo += [value for value in part if isinstance(value, (Value, dict, tuple))]
        elif isinstance(part, Value) and not isinstance(part, Imported):
            todo += _parts(part)
    return list(found.values())


def _parts(value: Value) -> list[object]:
    if isinstance(value, Function):
        return [value.defaults, *value.scopes]
    if isinstance(value, Class):
        return [value.f, *value.bases]
    if isinstance(value, Bound):
        return [value.function, value.receiver]
    if isinstance(value, Partial):
        return [value.function, *value.args, value.keywords]
    if isinstance(value, Optional):
        return [value.value]
    fields = getattr(value, "f", None)
    return [fields] if fields is not None else []
