"""Python's own functions on the values of the interpretation."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from gradwhy.static.flow import assignment, containers, iterating, methods
from gradwhy.static.flow.histories import Flow, Value
from gradwhy.static.flow.joining import element, join, join_all
from gradwhy.static.flow.ops import computed, cut
from gradwhy.static.flow.truth import is_none, truth
from gradwhy.static.flow.values import (
    NONE,
    Array,
    Class,
    Const,
    Data,
    Instance,
    Layer,
    Library,
    Mapping,
    Optional,
    Parameters,
    Scalar,
    Seq,
    Super,
    Tensor,
    Unknown,
    flows,
    plain,
)

if TYPE_CHECKING:
    from gradwhy.static.flow.run import Run

Args = list[Value]
Keywords = dict[str, Value]
_FEW = 4


def call(r: Run, name: str, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    """``name(...)`` for a builtin; those that are not known give an unknown value and change nothing."""
    handler = _KNOWN.get(name)
    return handler(r, args, keywords, node) if handler is not None else Unknown(node)


def sequence_of(r: Run, value: Value, node: ast.AST) -> Seq:
    """Any iterable as a sequence."""
    value = plain(value)
    if isinstance(value, Seq):
        return value
    items, exact = iterating.iterations(r, value, node)
    return Seq(items) if exact else Seq((), join_all(items))


def _print(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    return NONE


def _len(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    value = plain(args[0]) if args else None
    if isinstance(value, Seq) and value.rest is None:
        return Const(len(value.items))
    if isinstance(value, Mapping) and value.rest is None:
        return Const(len(value.items))
    if isinstance(value, Const) and isinstance(value.value, (str, tuple)):
        return Const(len(value.value))
    if isinstance(value, Instance) and (found := value.cls.find("__len__")) is not None:
        return r.call(found[0], [value], {}, node)
    return Scalar()


def _range(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    known = [arg.value for arg in args if isinstance(arg, Const) and isinstance(arg.value, int)]
    if len(known) == len(args) and known:
        try:
            numbers = range(*known)
        except (TypeError, ValueError):
            return Seq((), Scalar())
        if len(numbers) <= _FEW:
            return Seq([Const(number) for number in numbers])
    return Seq((), Scalar())


def _zip(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    parts = [sequence_of(r, arg, node) for arg in args]
    if not parts:
        return Seq()
    owner = next((part for part in parts if isinstance(part, Parameters)), None)
    shortest = min(len(part.items) for part in parts)
    exact = any(part.rest is None for part in parts)
    count = min((len(part.items) for part in parts if part.rest is None), default=shortest)
    rows: list[Value] = []
    for index in range(count):
        row = [part.items[index] if index < len(part.items) else part.rest or Unknown() for part in parts]
        rows.append(Seq(row, kind="tuple"))
    rest = None if exact else Seq([element(part) for part in parts], kind="tuple")
    return Parameters(owner.owner, rows, rest) if owner is not None else Seq(rows, rest)


def _enumerate(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    seq = sequence_of(r, args[0], node) if args else Seq()
    start = args[1] if len(args) > 1 else keywords.get("start", Const(0))
    first = start.value if isinstance(start, Const) and isinstance(start.value, int) else None
    rows: list[Value] = []
    for index, item in enumerate(seq.items):
        number: Value = Const(first + index) if first is not None else Scalar()
        rows.append(Seq((number, item), kind="tuple"))
    rest = Seq((Scalar(), seq.rest), kind="tuple") if seq.rest is not None else None
    return Parameters(seq.owner, rows, rest) if isinstance(seq, Parameters) else Seq(rows, rest)


def _list(kind: str) -> Callable[[Run, Args, Keywords, ast.AST], Value]:
    def make(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
        seq = sequence_of(r, args[0], node) if args else Seq()
        if isinstance(seq, Parameters):
            return Parameters(seq.owner, list(seq.items), seq.rest)
        return Seq(seq.items, seq.rest, kind)

    return make


def _same(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    return sequence_of(r, args[0], node) if args else Seq()


def _reversed(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    seq = sequence_of(r, args[0], node) if args else Seq()
    return Seq(seq.items[::-1], seq.rest)


def _dict(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    made = Mapping({})
    if args:
        given = plain(args[0])
        if isinstance(given, Mapping):
            containers.call(r, made, "update", [given], {}, node)
        elif isinstance(given, Seq):
            for pair in given.items:
                inner = plain(pair)
                if isinstance(inner, Seq) and len(inner.items) == 2 and isinstance(inner.items[0], Const):
                    made.f["items"] = {**made.items, inner.items[0].value: inner.items[1]}
                else:
                    made.f["rest"] = Unknown()
            if given.rest is not None:
                inner = plain(given.rest)
                made.f["rest"] = inner.items[1] if isinstance(inner, Seq) and len(inner.items) == 2 else Unknown()
        else:
            made.f["rest"] = Unknown()
    made.f["items"] = {**made.items, **{k: v for k, v in keywords.items() if k != "**"}}
    return made


def _number(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    value = plain(args[0]) if args else None
    if isinstance(value, Tensor):
        return Scalar(cut(r, node, [value.flow], "item"))
    if isinstance(value, (Scalar, Array)):
        return Scalar(value.flow)
    if isinstance(value, Data):
        return Scalar(value.tensor.flow)
    if isinstance(value, Const) and isinstance(value.value, (int, float)) and not isinstance(value.value, bool):
        return value
    return Scalar()


def _text(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    value = args[0] if args else None
    return Const(str(value.value)) if isinstance(value, Const) else Scalar()


def _bool(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    known = truth(r, args[0]) if args else False
    return Scalar() if known is None else Const(known)


def _sum(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    seq = sequence_of(r, args[0], node) if args else Seq()
    parts = [*seq.items, *([seq.rest] if seq.rest is not None else []), *args[1:]]
    return _merged(r, [plain(part) for part in parts], node, "add")


def _merged(r: Run, parts: list[Value], node: ast.AST, name: str = "") -> Value:
    """A value computed from several: a tensor where one of them is."""
    if any(isinstance(part, Tensor) for part in parts):
        return computed(r, node, [flow for part in parts for flow in flows(part)], name=name)
    if parts and all(isinstance(part, (Scalar, Const)) for part in parts):
        given = tuple(dict.fromkeys(flow for part in parts for flow in flows(part)))
        return Scalar(Flow("op", 0, node, r.frame, given) if given else None)
    return Unknown(node) if parts else Scalar()


def _least(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    if len(args) == 1:
        seq = sequence_of(r, args[0], node)
        return element(seq) if seq.items or seq.rest is not None else Unknown()
    return join_all([plain(arg) for arg in args]) if args else Unknown()


def _abs(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    value = plain(args[0]) if args else Unknown()
    return (
        computed(r, node, [value.flow])
        if isinstance(value, Tensor)
        else value
        if not isinstance(value, Const)
        else Scalar()
    )


def _isinstance(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    if len(args) != 2:
        return Scalar()
    value = args[0]
    kinds = plain(args[1])
    options = list(kinds.items) if isinstance(kinds, Seq) else [kinds]
    answers = [_is_a(value, plain(option)) for option in options]
    if any(answer for answer in answers):
        return Const(True)
    return Scalar() if any(answer is None for answer in answers) else Const(False)


def _is_a(value: Value, kind: Value) -> bool | None:
    if isinstance(value, (Unknown, Optional, Data)):
        return None
    if isinstance(kind, Class):
        if isinstance(value, Instance):
            return kind in _lineage(value.cls)
        return None if isinstance(value, Library) else False
    if not isinstance(kind, Library):
        return None
    path = kind.path
    if path in ("torch.Tensor", "torch.FloatTensor"):
        return isinstance(value, Tensor)
    if path in ("torch.nn.Parameter", "torch.nn.parameter.Parameter"):
        return isinstance(value, Tensor) and value.parameter
    if path == "torch.nn.Module":
        return isinstance(value, Layer) or (isinstance(value, Instance) and value.is_module)
    if path.startswith("torch.nn."):
        if isinstance(value, Layer):
            return value.path == path or (None if "_" in path.rpartition(".")[2] or path.endswith("Norm") else False)
        if isinstance(value, Instance):
            return None if value.cls.base.startswith(path) else False
        return False
    if path.startswith("builtins."):
        name = path.rpartition(".")[2]
        if isinstance(value, Const):
            return type(value.value).__name__ == name or (name == "int" and isinstance(value.value, bool))
        if isinstance(value, Scalar):
            return None
        if isinstance(value, Seq):
            return value.kind == name
        return isinstance(value, Mapping) and name == "dict"
    return None


def _lineage(cls: Class) -> list[Class]:
    return [cls, *(found for base in cls.bases for found in _lineage(base))]


def _getattr(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    if len(args) >= 2 and isinstance(args[1], Const) and isinstance(args[1].value, str):
        owner = plain(args[0])
        if len(args) == 3 and isinstance(owner, (Instance, Layer)):
            if args[1].value not in owner.f and (isinstance(owner, Layer) or owner.cls.find(args[1].value) is None):
                return args[2] if isinstance(owner, Layer) else join(args[2], Unknown())
        return methods.attribute(r, owner, args[1].value, node)
    return Unknown(node)


def _setattr(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    if len(args) == 3:
        owner = plain(args[0])
        if isinstance(args[1], Const) and isinstance(args[1].value, str):
            assignment.set_attribute(r, owner, args[1].value, args[2], node)
        else:
            from gradwhy.static.flow.layers import escape

            escape(r, owner)
    return NONE


def _hasattr(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    if len(args) == 2 and isinstance(args[1], Const):
        owner = plain(args[0])
        if isinstance(owner, (Instance, Layer)) and args[1].value in owner.f:
            return Const(True)
        if isinstance(owner, Instance) and owner.cls.find(str(args[1].value)) is not None:
            return Const(True)
    return Scalar()


def _next(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    if not args:
        return Unknown()
    value = plain(args[0])
    if isinstance(value, Seq) and value.rest is None and value.items:
        return value.items[0] if isinstance(value, Parameters) else element(value)
    return iterating.iterations(r, value, node)[0][0] if not isinstance(value, Unknown) else Unknown(node)


def _first(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    return args[0] if args else Unknown()


def _map(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    if len(args) < 2:
        return Unknown(node)
    seq = sequence_of(r, args[1] if len(args) == 2 else _zip(r, args[1:], {}, node), node)
    several = len(args) > 2

    def apply(item: Value) -> Value:
        inner = plain(item)
        given = list(inner.items) if several and isinstance(inner, Seq) else [item]
        return r.call(args[0], given, {}, node)

    items, exact = iterating.iterations(r, seq, node)
    results = [apply(item) for item in items]
    return Seq(results) if exact else Seq((), join_all(results))


def _filter(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    if len(args) != 2:
        return Unknown(node)
    seq = sequence_of(r, args[1], node)
    kept: list[Value] = []
    rest = seq.rest
    for item in seq.items:
        known = truth(r, item if is_none(args[0]) else plain(r.call(args[0], [item], {}, node)))
        if known is True:
            kept.append(item)
        elif known is None:
            rest = item if rest is None else join(rest, item)
    return Parameters(seq.owner, kept, rest) if isinstance(seq, Parameters) else Seq(kept, rest)


def _super(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    frame = r.frame
    cls = args[0] if len(args) == 2 else frame.cls
    receiver = args[1] if len(args) == 2 else frame.receiver
    if isinstance(cls, Class) and receiver is not None:
        return Super(cls, receiver)
    return Unknown(node)


def _quantified(stops: bool) -> Callable[[Run, Args, Keywords, ast.AST], Value]:
    def check(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
        seq = sequence_of(r, args[0], node) if args else Seq()
        known = [truth(r, item) for item in seq.items]
        if stops in known:
            return Const(stops)
        return Scalar() if None in known or seq.rest is not None else Const(not stops)

    return check


def _scalar(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    return Scalar()


_KNOWN: dict[str, Callable[[Run, Args, Keywords, ast.AST], Value]] = {
    "print": _print, "len": _len, "range": _range, "zip": _zip, "enumerate": _enumerate, "list": _list("list"),
    "tuple": _list("tuple"), "set": _list("set"), "frozenset": _list("set"), "sorted": _same, "reversed": _reversed,
    "dict": _dict, "float": _number, "int": _number, "str": _text, "bool": _bool, "sum": _sum, "max": _least, "min": _least,
    "abs": _abs, "isinstance": _isinstance, "getattr": _getattr, "setattr": _setattr, "hasattr": _hasattr, "next": _next,
    "iter": _first, "map": _map, "filter": _filter, "super": _super, "any": _quantified(True), "all": _quantified(False),
    "round": _number, "id": _scalar, "hash": _scalar, "repr": _scalar, "format": _scalar, "input": _scalar, "ord": _scalar,
    "chr": _scalar,
    "issubclass": _scalar, "callable": _scalar, "pow": _scalar, "divmod": _scalar,
}  # fmt: skip
NAMES = frozenset({*_KNOWN, "type", "vars", "dir", "open", "object", "globals", "locals", "slice", "Exception", "ValueError",
                   "staticmethod", "classmethod", "property", "exit", "quit", "bytes", "complex", "memoryview"})  # fmt: skip
