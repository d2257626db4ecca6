"""Methods of lists, dicts, strings and numbers."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gradwhy.static.flow.histories import Value
from gradwhy.static.flow.joining import element, join, join_all
from gradwhy.static.flow.values import NONE, Const, Mapping, Scalar, Seq, Unknown, plain

if TYPE_CHECKING:
    from gradwhy.static.flow.run import Run

_TEXT = frozenset({"startswith", "endswith", "lower", "upper", "strip", "lstrip", "rstrip", "replace", "split", "rsplit",
                   "partition", "rpartition", "removeprefix", "removesuffix", "isdigit", "count", "find", "title"})  # fmt: skip
_LONGEST = 64


def call(r: Run, owner: Value, name: str, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    """``owner.name(...)``."""
    if isinstance(owner, Seq):
        return _sequence(r, owner, name, args)
    if isinstance(owner, Mapping):
        return _mapping(r, owner, name, args, keywords)
    if isinstance(owner, Const) and isinstance(owner.value, str):
        return _text(owner.value, name, args)
    if name in ("split", "splitlines", "partition"):
        return Seq((), Scalar())
    if name == "backward" and isinstance(owner, Scalar) and owner.flow is not None:
        r.tell("number-backward", node, flow=owner.flow)
    return Scalar()


def _text(text: str, name: str, args: list[Value]) -> Value:
    given = [arg.value for arg in args if isinstance(arg, Const)]
    if name == "join" or name not in _TEXT or len(given) != len(args):
        return Scalar()
    try:
        result = getattr(text, name)(*given)
    except Exception:
        return Scalar()
    if isinstance(result, (list, tuple)):
        return Seq([Const(part) for part in result[:_LONGEST]])
    return Const(result)


def extend(r: Run, owner: Seq, value: Value) -> None:
    """``owner += value``."""
    value = plain(value)
    if isinstance(value, Seq):
        if owner.rest is None and value.rest is None and len(owner.items) + len(value.items) <= _LONGEST:
            r.write(owner.f, "items", (*owner.items, *value.items))
            return
        added: Value = element(value)
    else:
        added = Unknown()
    _add(r, owner, added)


def _add(r: Run, owner: Seq, value: Value) -> None:
    if owner.rest is None and len(owner.items) < _LONGEST:
        r.write(owner.f, "items", (*owner.items, value))
    else:
        r.write(owner.f, "rest", join(owner.rest, value) if owner.rest is not None else value)


def _sequence(r: Run, owner: Seq, name: str, args: list[Value]) -> Value:
    if name in ("append", "add", "appendleft", "put"):
        _add(r, owner, args[0] if args else Unknown())
        return NONE
    if name in ("extend", "update"):
        extend(r, owner, args[0] if args else Unknown())
        return NONE
    if name == "insert" and len(args) == 2:
        at_front = isinstance(args[0], Const) and args[0].value == 0
        if owner.rest is None and at_front:
            r.write(owner.f, "items", (args[1], *owner.items))
        else:
            _add(r, owner, args[1])
        return NONE
    if name in ("pop", "popleft"):
        items = owner.items
        index = args[0] if args else Const(0 if name == "popleft" else -1)
        if owner.rest is None and isinstance(index, Const) and isinstance(index.value, int):
            if -len(items) <= index.value < len(items):
                kept = list(items)
                value = kept.pop(index.value)
                r.write(owner.f, "items", tuple(kept))
                return value
        return element(owner)
    if name == "clear":
        r.write(owner.f, "items", ())
        r.write(owner.f, "rest", None)
        return NONE
    if name == "copy":
        return Seq(owner.items, owner.rest, owner.kind, owner.fields)
    if name in ("reverse", "sort", "remove", "discard"):
        if name == "reverse" and owner.rest is None:
            r.write(owner.f, "items", owner.items[::-1])
        return NONE
    if name in ("numel", "index", "count"):
        return Scalar()
    return Unknown()


def _mapping(r: Run, owner: Mapping, name: str, args: list[Value], keywords: dict[str, Value]) -> Value:
    if name in ("items", "keys", "values"):
        pairs: list[Value] = []
        for key, value in owner.items.items():
            pairs.append(
                Seq((Const(key), value), kind="tuple") if name == "items" else Const(key) if name == "keys" else value
            )
        rest = owner.rest
        if rest is None:
            return Seq(pairs)
        return Seq(
            pairs, Seq((Scalar(), rest), kind="tuple") if name == "items" else Scalar() if name == "keys" else rest
        )
    key = args[0].value if args and isinstance(args[0], Const) else None
    if name in ("get", "pop", "setdefault"):
        found = owner.items.get(key) if isinstance(key, (str, int)) else None
        if found is not None:
            return found
        default = args[1] if len(args) > 1 else NONE
        if name == "setdefault" and isinstance(key, (str, int)):
            r.write(owner.f, "items", {**owner.items, key: default})
            return default
        if not isinstance(key, (str, int)):
            return join_all([*owner.items.values(), *([owner.rest] if owner.rest is not None else []), default])
        return Unknown() if owner.rest is not None else default
    if name == "update":
        more = plain(args[0]) if args else Mapping(dict(keywords))
        if isinstance(more, Mapping):
            r.write(owner.f, "items", {**owner.items, **more.items})
            if more.rest is not None:
                r.write(owner.f, "rest", join(owner.rest, more.rest) if owner.rest is not None else more.rest)
        else:
            r.write(owner.f, "rest", Unknown())
        return NONE
    if name == "copy":
        return Mapping(dict(owner.items), owner.rest)
    if name == "clear":
        r.write(owner.f, "items", {})
        r.write(owner.f, "rest", None)
        return NONE
    return Unknown()
