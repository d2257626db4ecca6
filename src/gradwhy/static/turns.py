"""Statements that move into the loop, or the closure, that needs them in each turn."""

from __future__ import annotations

import ast

from gradwhy.findings import Edit
from gradwhy.source.slicing import bound_names, names_read, targets
from gradwhy.source.text import SourceText, Span
from gradwhy.static.remedy import Written, replace
from gradwhy.static.rewrites import block_of, indent_of, whole_lines_out


def turn_of(source: SourceText, node: ast.AST) -> ast.For | ast.While | ast.FunctionDef | None:
    """The innermost loop around a node, or the function where that stands inside another one: a closure."""
    for outer in source.enclosing(node):
        if isinstance(outer, (ast.For, ast.While)):
            return outer
        if isinstance(outer, ast.FunctionDef):
            return outer if source.function(outer) is not None or _called_back(source, outer) else None
        if isinstance(outer, (ast.Lambda, ast.ClassDef, ast.AsyncFunctionDef)):
            return None
    return None


def _called_back(source: SourceText, function: ast.FunctionDef) -> bool:
    """A function of a module that is handed on as a value: ``optimizer.step(closure)``."""
    return isinstance(source.parents.get(function), ast.Module) and any(
        isinstance(n, ast.Call) and any(isinstance(a, ast.Name) and a.id == function.name for a in n.args)
        for n in ast.walk(source.tree or ast.Module([], []))
    )


def moved_into(where: Written, statement: ast.stmt, turn: ast.For | ast.While | ast.FunctionDef) -> list[Edit]:
    """The edits that put an assignment where each turn first reads its names; none where something else needs it outside."""
    source = where.source
    names = {name for target in targets(statement) for name in bound_names(target)}
    scope = source.function(statement) or source.tree
    if not isinstance(statement, ast.Assign) or not names or scope is None or any("." in name for name in names):
        return []
    if (
        statement in set(ast.walk(turn))
        or turn not in set(ast.walk(scope))
        or turn.lineno <= (statement.end_lineno or 0)
    ):
        return []
    inside = set(ast.walk(turn))
    for node in ast.walk(scope):
        if (
            isinstance(node, ast.Name)
            and node.id in names
            and node not in inside
            and source.statement(node) is not statement
        ):
            return []
    if _rebound(scope, names_read(statement.value), after=statement.end_lineno or statement.lineno):
        return []
    first = next((part for part in turn.body if names & _names(part)), None)
    block = block_of(source, statement)
    if first is None or block is None or len(block) == 1 or _binds(first, names) or first.lineno == turn.lineno:
        return []
    last = statement.end_lineno or statement.lineno
    if source.line(statement.lineno).strip().startswith(("with ", "if ", "for ")) or _shares_lines(
        source, block, statement
    ):
        return []
    before, by = indent_of(source, statement.lineno), indent_of(source, first.lineno)
    lines = [source.line(number) for number in range(statement.lineno, last + 1)]
    if any(isinstance(n, ast.Constant) and n.lineno != n.end_lineno for n in ast.walk(statement)):
        return []
    shifted = [by + line.removeprefix(before) if line.strip() else line for line in lines]
    start = Span(first.lineno, 1, first.lineno, 1)
    return [whole_lines_out(where, statement.lineno, last), replace(where, start, "\n".join(shifted) + "\n")]


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _binds(statement: ast.stmt, names: set[str]) -> bool:
    return any(
        isinstance(n, ast.Name) and n.id in names and not isinstance(n.ctx, ast.Load) for n in ast.walk(statement)
    )


def _shares_lines(source: SourceText, block: list[ast.stmt], statement: ast.stmt) -> bool:
    at = source.span(statement)
    return bool(source.line(at.line)[: at.column - 1].strip()) or any(
        part is not statement and (part.lineno == at.end_line or part.end_lineno == at.line) for part in block
    )


def _rebound(scope: ast.AST, names: set[str], after: int) -> bool:
    for node in ast.walk(scope):
        if getattr(node, "lineno", 0) > after:
            if names & {name for target in targets(node) for name in bound_names(target)}:
                return True
    return False
