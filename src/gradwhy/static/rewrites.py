"""Edits that several remedies share: leaving out a call, moving lines out of a block or into one."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Edit
from gradwhy.source.slicing import dotted_name
from gradwhy.source.text import SourceText, Span
from gradwhy.static.remedy import Value, Written, replace


def without_method(where: Written, node: ast.AST, names: Iterable[str]) -> Edit | None:
    """``x.name()`` -> ``x``, ``torch.name(x)`` -> ``x``, ``x.data`` -> ``x``; also at the end of a longer chain."""
    wanted = set(names)
    inner: ast.AST | None = node
    while inner is not None:
        if isinstance(inner, ast.Call):
            if isinstance(inner.func, ast.Attribute) and inner.func.attr in wanted:
                on_torch = dotted_name(inner.func.value) == "torch"
                kept = inner.args[0] if on_torch and inner.args else inner.func.value
                return _left_out(where, inner, kept)
            inner = inner.func.value if isinstance(inner.func, ast.Attribute) else None
        elif isinstance(inner, ast.Attribute):
            if inner.attr in wanted:
                return _left_out(where, inner, inner.value)
            inner = inner.value
        else:
            return None
    return None


_CLOSED = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant, ast.List, ast.Tuple, ast.Dict)
_ALONE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Expr, ast.keyword)


def is_helper(where: Written, node: ast.AST) -> bool:
    """Whether a function does nothing but convert what it is given, as in ``return [s.data for s in states]``: it is right
    where it is, and its call is at fault."""
    source = where.source
    function = source.function(node)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    body = [part for part in function.body if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))]
    if len(body) != 1 or not isinstance(body[0], ast.Return):
        return False
    own = {argument.arg for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    for loop in (part for part in ast.walk(body[0]) if isinstance(part, ast.comprehension)):
        if isinstance(loop.target, ast.Name) and isinstance(loop.iter, ast.Name) and loop.iter.id in own:
            own.add(loop.target.id)
    inner: ast.AST | None = node
    while isinstance(inner, (ast.Attribute, ast.Call)):
        if isinstance(inner, ast.Call):
            inner = inner.func if isinstance(inner.func, ast.Attribute) else None
        else:
            inner = inner.value
    return isinstance(inner, ast.Name) and inner.id in own and inner.id not in ("self", "cls")


def _left_out(where: Written, outer: ast.AST, kept: ast.AST) -> Edit:
    """``kept`` in the place of ``outer``, and of the ``Variable(...)`` around it, which would drop the history again."""
    around = where.source.parents.get(outer)
    if isinstance(around, ast.Call) and around.args == [outer] and not around.keywords:
        if dotted_name(around.func).rpartition(".")[2] == "Variable":
            outer = around
    return replace(where, outer, _in_place_of(where, outer, kept))


def _in_place_of(where: Written, outer: ast.AST, kept: ast.AST) -> str:
    """The text of a part of ``outer`` that is to stand in its place, in brackets where it needs them there."""
    text = where.source.segment(kept)
    parent = where.source.parents.get(outer)
    argument = isinstance(parent, ast.Call) and outer is not parent.func
    bare = isinstance(kept, _CLOSED) or ("\n" not in text and (isinstance(parent, _ALONE) or argument))
    return text if bare else f"({text})"


def with_keyword(where: Written, call: ast.Call, name: str, value: str) -> Edit:
    """The call with ``name=value``: changed where it is there, else added as the last argument."""
    source = where.source
    for keyword in call.keywords:
        if keyword.arg == name:
            return replace(where, keyword.value, value)
    span = source.span(call)
    last = [*call.args, *(keyword.value for keyword in call.keywords)]
    after = source.span(max(last, key=lambda n: (n.end_lineno or 0, n.end_col_offset or 0))) if last else None
    line, column = (after.end_line, after.end_column) if after else (span.end_line, span.end_column - 1)
    return replace(where, Span(line, column, line, column), f", {name}={value}" if last else f"{name}={value}")


def without_argument(where: Written, call: ast.Call, argument: ast.expr) -> Edit:
    """A call without one of its arguments, and without the comma that it needs no longer."""
    source = where.source
    spans = sorted(
        [source.span(a) for a in call.args] + [source.span(k) for k in call.keywords],
        key=lambda s: (s.line, s.column),
    )
    own = next((source.span(k) for k in call.keywords if k.value is argument), None) or source.span(argument)
    index = spans.index(own)
    if index:
        before = spans[index - 1]
        return replace(where, Span(before.end_line, before.end_column, own.end_line, own.end_column), "")
    if len(spans) > 1:
        return replace(where, Span(own.line, own.column, spans[1].line, spans[1].column), "")
    return replace(where, own, "")


SIMPLE = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
"""Expressions that a method can be called on without brackets."""


def detached(where: Written, value: ast.expr) -> list[Edit]:
    """``value.detach()``, with brackets where it needs them."""
    span = where.source.span(value)
    before, after = ("", ".detach()") if isinstance(value, SIMPLE) else ("(", ").detach()")
    end = replace(where, Span(span.end_line, span.end_column, span.end_line, span.end_column), after)
    start = replace(where, Span(span.line, span.column, span.line, span.column), before)
    return [start, end] if before else [end]


def indent_of(source: SourceText, line: int) -> str:
    text = source.line(line)
    return text[: len(text) - len(text.lstrip())]


def moved(where: Written, first: int, last: int, by: str, out: bool) -> list[Edit]:
    """The lines from ``first`` to ``last`` with one step of indentation less or more; blank lines and the insides of
    strings over several lines stay as they are."""
    inside = _string_lines(where.source)
    edits: list[Edit] = []
    for line in range(first, last + 1):
        text = where.source.line(line)
        if not text.strip() or line in inside:
            continue
        if out:
            if text.startswith(by):
                edits.append(replace(where, Span(line, 1, line, len(by) + 1), ""))
        else:
            edits.append(replace(where, Span(line, 1, line, 1), by))
    return edits


def _string_lines(source: SourceText) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(source.tree) if source.tree is not None else ():
        if isinstance(node, (ast.Constant, ast.JoinedStr)) and (node.end_lineno or 0) > node.lineno:
            lines.update(range(node.lineno + 1, (node.end_lineno or 0) + 1))
    return lines


def step_of(source: SourceText, outer: int, inner: int) -> str:
    """One step of indentation, as the file has it between two lines."""
    return indent_of(source, inner)[len(indent_of(source, outer)) :] or "    "


def whole_lines_out(where: Written, first: int, last: int) -> Edit:
    """The edit that takes whole lines away, with their line ends."""
    source = where.source
    if last < len(source.lines):
        return replace(where, Span(first, 1, last + 1, 1), "")
    return replace(where, Span(first, 1, last, len(source.line(last)) + 1), "")


def fitted(value: Value, made: Value | None, target: Value | None, loss: str) -> str | None:
    """The expression that gives a loss the raw output in the shape that it needs, or None where it can't be told.

    Classification losses take (N, C) logits and class numbers of shape (N,) (torch.nn.CrossEntropyLoss); others want
    both shapes alike, so (N, 1) becomes (N,) by ``squeeze(1)``, which leaves a batch of one as it is.
    """
    if value.shape is None:
        return None
    if loss in ("cross_entropy", "CrossEntropyLoss"):
        fits = (
            target is None or target.shape is None or target.shape in ((value.shape[0], *value.shape[2:]), value.shape)
        )
        return value.text if fits else None
    wanted = (
        target.shape if target is not None and target.shape is not None else made.shape if made is not None else None
    )
    if wanted is None:
        return None
    if wanted == value.shape:
        return value.text
    for axis in range(1, len(value.shape)):
        if value.shape[axis] == 1 and wanted == (*value.shape[:axis], *value.shape[axis + 1 :]):
            simple = isinstance(
                ast.parse(value.text, mode="eval").body, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
            )
            return f"{value.text if simple else f'({value.text})'}.squeeze({axis})"
    return None
