"""Evaluates expressions to values."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradwhy.static.flow import assignment, builtin, comprehensions, definitions, functions, layers, methods, operators
from gradwhy.static.flow.histories import Value
from gradwhy.static.flow.iterating import item_of
from gradwhy.static.flow.joining import element, join, join_all
from gradwhy.static.flow.ops import computed
from gradwhy.static.flow.truth import truth
from gradwhy.static.flow.values import (
    NONE,
    NUMBER,
    Array,
    Class,
    Const,
    Data,
    Function,
    Instance,
    Layer,
    Library,
    Mapping,
    Parameters,
    Scalar,
    Seq,
    Tensor,
    Unknown,
    flows,
    plain,
)

if TYPE_CHECKING:
    from gradwhy.static.flow.run import Run


def evaluate(r: Run, node: ast.expr) -> Value:
    handler = _HANDLERS.get(type(node))
    return handler(r, node) if handler is not None else Unknown(node)


def _name(r: Run, node: ast.Name) -> Value:
    value = r.look_up(node.id)
    if value is not None:
        return value
    return Library(f"builtins.{node.id}") if node.id in builtin.NAMES else Unknown(node)


def _constant(r: Run, node: ast.Constant) -> Value:
    return Const(node.value)


def _attribute(r: Run, node: ast.Attribute) -> Value:
    return methods.attribute(r, r.evaluate(node.value), node.attr, node)


def _call(r: Run, node: ast.Call) -> Value:
    if isinstance(node.func, ast.Attribute):
        owner = plain(r.evaluate(node.func.value))
        args, keywords = functions.arguments(r, node)
        if isinstance(owner, Library):
            return r.call(methods.attribute(r, owner, node.func.attr, node), args, keywords, node)
        return methods.call(r, owner, node.func.attr, args, keywords, node)
    function = r.evaluate(node.func)
    args, keywords = functions.arguments(r, node)
    return r.call(function, args, keywords, node)


def _binary(r: Run, node: ast.BinOp) -> Value:
    return operators.binary(r, r.evaluate(node.left), r.evaluate(node.right), node)


def _unary(r: Run, node: ast.UnaryOp) -> Value:
    return operators.unary(r, r.evaluate(node.operand), node)


def _bool(r: Run, node: ast.BoolOp) -> Value:
    stops = isinstance(node.op, ast.Or)
    possible: list[Value] = []
    for part in node.values:
        value = r.evaluate(part)
        known = truth(r, value, part)
        if known is stops:
            possible.append(value)
            break
        if known is None or part is node.values[-1]:
            possible.append(plain(value) if stops and part is not node.values[-1] else value)
    return join_all(possible)


def _compare(r: Run, node: ast.Compare) -> Value:
    left = r.evaluate(node.left)
    results: list[Value] = []
    for op, comparator in zip(node.ops, node.comparators):
        right = r.evaluate(comparator)
        results.append(operators.compare(r, left, right, op, node))
        left = right
    if len(results) == 1:
        return results[0]
    known = [truth(r, result) for result in results]
    return Const(False) if False in known else Const(True) if all(known) else Scalar()


def _if_expression(r: Run, node: ast.IfExp) -> Value:
    known = truth(r, r.evaluate(node.test), node.test)
    if known is not None:
        return r.evaluate(node.body if known else node.orelse)
    return join(r.evaluate(node.body), r.evaluate(node.orelse))


def _subscript(r: Run, node: ast.Subscript) -> Value:
    owner = plain(r.evaluate(node.value))
    if isinstance(node.slice, ast.Slice):
        return _sliced(r, owner, node.slice, node)
    index = r.evaluate(node.slice)
    if isinstance(owner, Tensor):
        whole = not isinstance(index, (Tensor, Seq, Unknown, Data, Array))
        name = "[:]" if whole or _only_slices(node.slice) else "[i]" if _takes_copy(index) else "[]"
        return computed(r, node, [owner.flow], tuple(flows(index)), name=name)
    if isinstance(owner, Seq):
        return _item(owner, index)
    if isinstance(owner, Mapping):
        return _entry(owner, index, node)
    if isinstance(owner, Layer) or (isinstance(owner, Instance) and owner.cls.base in layers.CONTAINERS):
        return layers.item(r, owner, index, node)
    if isinstance(owner, (Array, Data, Scalar)):
        return owner
    if isinstance(owner, Const):
        try:
            return Const(owner.value[index.value]) if isinstance(index, Const) else Scalar()
        except Exception:
            return Scalar()
    if isinstance(owner, Instance) and (found := owner.cls.find("__getitem__")) is not None:
        return r.call(found[0], [owner, index], {}, node)
    if isinstance(owner, Unknown) and isinstance(index, Const):
        key = f"[{index.value!r}]"
        owner.f.setdefault(key, Unknown(node))
        found_value: Value = owner.f[key]
        return found_value
    return Unknown(node)


def _only_slices(index: ast.expr) -> bool:
    """Whether an index takes a view: slices and single numbers."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return all(isinstance(part, (ast.Slice, ast.Constant, ast.UnaryOp)) for part in parts)


def _takes_copy(index: Value) -> bool:
    """Whether an index takes a copy: a tensor or an array among its parts."""
    parts = index.items if isinstance(index, Seq) and index.kind == "tuple" else (index,)
    return any(isinstance(plain(part), (Tensor, Array)) for part in parts)


def _sliced(r: Run, owner: Value, part: ast.Slice, node: ast.AST) -> Value:
    bounds = [r.evaluate(bound) if bound is not None else NONE for bound in (part.lower, part.upper, part.step)]
    if isinstance(owner, Tensor):
        return computed(r, node, [owner.flow], name="[:]")
    if isinstance(owner, (Array, Data, Scalar)):
        return owner
    known = [bound.value for bound in bounds if isinstance(bound, Const)]
    if isinstance(owner, Layer):
        whole = layers.contents(owner)
        new = Layer(owner.path, owner.made)
        inner = _sliced(r, whole, part, node)
        layers.fill(r, new.f, new.path, [inner])
        return new
    if isinstance(owner, Seq):
        if owner.rest is None and len(known) == 3:
            try:
                items = owner.items[slice(*known)]
            except (TypeError, ValueError):
                items = owner.items
            return Seq(items, kind=owner.kind)
        return Seq((), element(owner), owner.kind)
    if isinstance(owner, Const) and len(known) == 3:
        try:
            return Const(owner.value[slice(*known)])
        except Exception:
            return Scalar()
    return Unknown(node)


def _item(owner: Seq, index: Value) -> Value:
    if isinstance(index, Const) and isinstance(index.value, int):
        items = owner.items
        if owner.rest is None and -len(items) <= index.value < len(items):
            return items[index.value]
        if 0 <= index.value < len(items):
            return items[index.value]
    if isinstance(index, Const) and isinstance(index.value, str):
        return Unknown()
    return element(owner)


def _entry(owner: Mapping, index: Value, node: ast.AST) -> Value:
    if isinstance(index, Const):
        try:
            found = owner.items.get(index.value)
        except TypeError:
            found = None
        if found is not None:
            return found
        return owner.rest if owner.rest is not None else Unknown(node)
    values = [*owner.items.values(), *([owner.rest] if owner.rest is not None else [])]
    return join_all(values)


def _sequence(kind: str) -> Callable[[Run, Any], Value]:
    def make(r: Run, node: ast.Tuple | ast.List | ast.Set) -> Value:
        items: list[Value] = []
        rests: list[Value] = []
        owner: Value | None = None
        for part in node.elts:
            if isinstance(part, ast.Starred):
                value = plain(r.evaluate(part.value))
                if isinstance(value, Parameters):
                    owner = value.owner
                seq = builtin.sequence_of(r, value, part)
                if rests:
                    rests.append(element(seq))
                else:
                    items.extend(seq.items)
                    if seq.rest is not None:
                        rests.append(seq.rest)
            elif rests:
                rests.append(r.evaluate(part))
            else:
                items.append(r.evaluate(part))
        rest = join_all(rests) if rests else None
        return Parameters(owner, items, rest) if owner is not None and len(node.elts) == 1 else Seq(items, rest, kind)

    return make


def _dict(r: Run, node: ast.Dict) -> Value:
    items: dict[Any, Value] = {}
    rest: Value | None = None
    for key, part in zip(node.keys, node.values):
        value = r.evaluate(part)
        known = r.evaluate(key) if key is not None else None
        if isinstance(known, Const) and isinstance(known.value, (str, int, float, bytes, type(None))):
            items[known.value] = value
        elif known is None and isinstance(value, Mapping):
            items.update(value.items)
            rest = value.rest if rest is None else rest
        else:
            rest = value if rest is None else join(rest, value)
    return Mapping(items, rest)


def _lambda(r: Run, node: ast.Lambda) -> Value:
    function = Function(node, r.frame.scopes, f"{r.frame.name}.<lambda>" if r.frame.name else "<lambda>")
    definitions.set_defaults(r, function, node.args)
    function.cls = r.frame.cls if isinstance(r.frame.cls, Class) else None
    return function


def _joined(r: Run, node: ast.JoinedStr) -> Value:
    parts: list[str] = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
            continue
        value = r.evaluate(part.value) if isinstance(part, ast.FormattedValue) else NUMBER
        if isinstance(value, Const) and isinstance(part, ast.FormattedValue) and part.format_spec is None:
            parts.append(str(value.value))
        else:
            parts.append("\0")
    text = "".join(parts)
    return Scalar() if "\0" in text else Const(text)


def _named(r: Run, node: ast.NamedExpr) -> Value:
    value = r.evaluate(node.value)
    assignment.bind(r, node.target, value)
    return value


def _await(r: Run, node: ast.Await) -> Value:
    return r.evaluate(node.value)


def _yield(r: Run, node: ast.Yield) -> Value:
    value = r.evaluate(node.value) if node.value is not None else NONE
    if r.frame.on_yield is not None:
        r.frame.on_yield(value)
    else:
        r.frame.yields.append(value)
        if r.mode.on is not True:
            r.frame.yield_mode = r.mode
    return Unknown(node)


def _yield_from(r: Run, node: ast.YieldFrom) -> Value:
    r.frame.yields.append(item_of(r, r.evaluate(node.value), node))
    return Unknown(node)


def _slice(r: Run, node: ast.Slice) -> Value:
    for bound in (node.lower, node.upper, node.step):
        if bound is not None:
            r.evaluate(bound)
    return NUMBER


def _starred(r: Run, node: ast.Starred) -> Value:
    return r.evaluate(node.value)


_HANDLERS: dict[type[ast.AST], Callable[[Run, Any], Value]] = {
    ast.Name: _name,
    ast.Constant: _constant,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _bool,
    ast.Compare: _compare,
    ast.IfExp: _if_expression,
    ast.Subscript: _subscript,
    ast.Tuple: _sequence("tuple"),
    ast.List: _sequence("list"),
    ast.Set: _sequence("set"),
    ast.Dict: _dict,
    ast.ListComp: comprehensions.list_comprehension,
    ast.SetComp: comprehensions.list_comprehension,
    ast.GeneratorExp: comprehensions.list_comprehension,
    ast.DictComp: comprehensions.dict_comprehension,
    ast.Lambda: _lambda,
    ast.JoinedStr: _joined,
    ast.NamedExpr: _named,
    ast.Await: _await,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
    ast.Starred: _starred,
    ast.Slice: _slice,
}
