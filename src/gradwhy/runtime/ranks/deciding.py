"""Read from the source: the condition that decides whether a line is run, and the loop that it is in."""

from __future__ import annotations

import ast

from gradwhy.findings import Location
from gradwhy.runtime.sites import located
from gradwhy.source import text
from gradwhy.source.text import SourceText

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Module)
_LEAVES = (ast.Continue, ast.Break, ast.Return, ast.Raise)


def whether(at: Location) -> Location | None:
    """The one condition, in the same turn of the innermost loop or else in the function, on which it depends whether the line
    is run: None where there is none, or more than one."""
    source, node = _statement(at)
    if source is None or node is None:
        return None
    found: list[ast.expr] = []
    inner: ast.AST = node
    for outer in source.enclosing(node):
        if isinstance(inner, ast.stmt):
            found += [test for before in _before(source, inner) if (test := _leaving(before)) is not None]
        if isinstance(outer, (*_SCOPES, *_LOOPS)):
            break
        if isinstance(outer, ast.If):
            found.append(outer.test)
        inner = outer
    return located(source, found[0]) if len(found) == 1 else None


def _before(source: SourceText, statement: ast.stmt) -> list[ast.stmt]:
    block = source.block(statement)
    return block[: block.index(statement)] if statement in block else []


def _leaving(statement: ast.stmt) -> ast.expr | None:
    """The condition of ``if …: continue`` and its like."""
    if isinstance(statement, ast.If) and any(isinstance(each, _LEAVES) for each in statement.body):
        return statement.test
    return None


def loop(at: Location) -> Location | None:
    """The head and body of the innermost loop that a line is in, as one place that begins at its head."""
    source, node = _statement(at)
    if source is None or node is None:
        return None
    for outer in source.enclosing(node):
        if isinstance(outer, _LOOPS):
            return located(source, outer)
        if isinstance(outer, _SCOPES):
            return None
    return None


def covers(place: Location, at: Location) -> bool:
    """Whether a line lies within a place of the same file."""
    return place.file == at.file and place.line <= at.line <= (place.end_line or place.line)


def _statement(at: Location) -> tuple[SourceText | None, ast.stmt | None]:
    source = text.read(at.file)
    return source, source.statement_at(at.line) if source is not None else None
