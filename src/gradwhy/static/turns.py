"""Statements that move into the loop, or the closure, that needs them in each turn."""

from __future__ import annotations

import ast
import builtins

from gradwhy.findings import Edit
from gradwhy.source.slicing import bound_names, called, definitions, dotted_name, names_read, targets
from gradwhy.source.text import SourceText, Span
from gradwhy.static.remedy import Written, replace
from gradwhy.static.rewrites import indent_of, whole_lines_out


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
    """The edits that put an assignment where each turn first reads its names, with the assignments above it that its graph
    comes from; none where something outside the turn needs one of them too."""
    source = where.source
    scope, block = source.function(statement) or source.tree, source.block(statement)
    run = _with_sources(source, statement) if isinstance(statement, ast.Assign) else []
    if not run or scope is None or not block or len(block) == len(run):
        return []
    at = block.index(statement)
    if block[at + 1 - len(run) : at + 1] != run or any(_shares_lines(source, block, part) for part in run):
        return []
    names = {name for part in run for target in targets(part) for name in bound_names(target)}
    last, inside = statement.end_lineno or statement.lineno, set(ast.walk(turn))
    if any("." in name for name in names) or turn not in set(ast.walk(scope)) or turn.lineno <= last:
        return []
    own = {node for part in run for node in ast.walk(part)}
    if any(isinstance(n, ast.Name) and n.id in names and n not in inside and n not in own for n in ast.walk(scope)):
        return []
    read = {name for part in run for name in names_read(part)} - names
    if _rebound(scope, read, after=last) or any(
        isinstance(n, ast.Constant) and n.lineno != n.end_lineno for n in own
    ):  # fmt: skip
        return []
    first = next((part for part in turn.body if names & _names(part)), None)
    if first is None or _binds(first, names) or first.lineno == turn.lineno:
        return []
    before, by = indent_of(source, run[0].lineno), indent_of(source, first.lineno)
    lines = [source.line(number) for number in range(run[0].lineno, last + 1)]
    shifted = [by + line.removeprefix(before) if line.strip() else line for line in lines]
    start = Span(first.lineno, 1, first.lineno, 1)
    return [whole_lines_out(where, run[0].lineno, last), replace(where, start, "\n".join(shifted) + "\n")]


def _with_sources(source: SourceText, statement: ast.Assign) -> list[ast.stmt]:
    """The statement, behind those that computed with a module what it reads; none where that can't be told."""
    scope = source.function(statement) or source.tree
    run: list[ast.stmt] = [statement]
    todo = [statement]
    while todo:
        for name in sorted(names_read(todo.pop().value)):
            made = [node for bound, _, node in definitions(scope or ast.Module([], [])) if name in bound]
            for node in made:
                if not isinstance(node, ast.Assign) or node in run:
                    continue
                has_graph = _has_graph(source, node.value)
                if has_graph is None or (has_graph and len(made) > 1):
                    return []
                if has_graph:
                    run.append(node)
                    todo.append(node)
    return sorted(run, key=lambda part: part.lineno)


def _has_graph(source: SourceText, value: ast.expr) -> bool | None:
    """Whether a value comes out of a module: ``model(x)``. None for a method, which may do anything."""
    tree = source.tree or ast.Module([], [])
    made_here = {n.name for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    imported = {
        alias.asname or alias.name.partition(".")[0]
        for n in ast.walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom)) for alias in n.names
    }  # fmt: skip
    for call in ast.walk(value):
        if not isinstance(call, ast.Call):
            continue
        if isinstance(call.func, ast.Name):
            if call.func.id not in made_here | imported | set(dir(builtins)):
                return True
        elif dotted_name(call.func).startswith("self."):
            return None if called(call) in made_here else True
    return False


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
