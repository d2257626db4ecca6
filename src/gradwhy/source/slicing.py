"""Which lines of a function a value may come from: a backward slice over names, without running anything."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradwhy.source.text import SourceText

_MUTATORS = frozenset({"append", "extend", "insert", "add", "update", "setdefault", "appendleft", "put"})


def names_read(node: ast.AST) -> set[str]:
    """The dotted names that an expression reads: ``a.b`` as "a.b" and "a"."""
    found: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
            found.add(inner.id)
        elif isinstance(inner, ast.Attribute) and (dotted := dotted_name(inner)):
            found.add(dotted)
    return found


def dotted_name(node: ast.AST) -> str:
    """``a.b.c`` of an attribute chain on a name, or "" for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def called(node: ast.AST | None) -> str:
    """The last part of what is called: "ReLU" of ``nn.ReLU(...)``, "update" of ``meters[0].update(...)``; "" for no call."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def targets(statement: ast.AST) -> list[ast.expr]:
    """What a statement binds: the targets of an assignment, a loop or a ``with``."""
    if isinstance(statement, ast.Assign):
        return list(statement.targets)
    if isinstance(statement, (ast.AugAssign, ast.AnnAssign, ast.For, ast.AsyncFor, ast.NamedExpr)):
        return [statement.target]
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        return [item.optional_vars for item in statement.items if item.optional_vars is not None]
    return []


def bound_names(target: ast.expr) -> Iterator[str]:
    """The names that a target binds; ``x[i]`` and ``x.y`` bind into ``x``, tuples bind each part."""
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            yield from bound_names(part)
    elif isinstance(target, (ast.Starred, ast.Subscript)):
        yield from bound_names(target.value)
    elif isinstance(target, ast.Attribute) and (dotted := dotted_name(target)):
        yield dotted


def definitions(scope: ast.AST) -> Iterator[tuple[set[str], ast.expr, ast.AST]]:
    """(names bound, value, node) of each binding in a scope, nested functions left out."""
    stack: list[ast.AST] = list(ast.iter_child_nodes(scope))
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        stack.extend(ast.iter_child_nodes(node))
        bound = {name for target in targets(node) for name in bound_names(target)}
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr)):
            if node.value is not None:
                yield bound, node.value, node
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            yield bound, node.iter, node
        elif isinstance(node, ast.comprehension):
            yield set(bound_names(node.target)), node.iter, node.iter
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                if item.optional_vars is not None:
                    yield set(bound_names(item.optional_vars)), item.context_expr, node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MUTATORS:
            owner = dotted_name(node.func.value)
            for argument in node.args:
                if owner:
                    yield {owner}, argument, node


def backward_slice(source: SourceText, start: ast.AST) -> list[ast.AST]:
    """The expressions that ``start`` may come from within its function, nearest first, ``start`` included.

    Order of execution and branches are not looked at: the slice is too large rather than too small.
    """
    scope = source.function(start) or source.tree
    if scope is None:
        return [start]
    bindings = list(definitions(scope))
    found: list[ast.AST] = [start]
    wanted, done = names_read(start), set[str]()
    while wanted - done:
        name = min(wanted - done)
        done.add(name)
        for bound, value, _ in bindings:
            if name in bound and value not in found:
                found.append(value)
                wanted |= names_read(value)
    return found


def covered_lines(source: SourceText, nodes: list[ast.AST]) -> set[int]:
    """The lines on which the given nodes stand."""
    lines: set[int] = set()
    for node in nodes:
        span = source.span(node)
        lines.update(range(span.line, span.end_line + 1))
    return lines


def lines_behind(source: SourceText, start: ast.AST, depth: int = 4) -> set[int]:
    """The lines that a value may come from, functions of the same file that are called on the way included."""
    return covered_lines(source, values_behind(source, start, depth))


def values_behind(source: SourceText, start: ast.AST, depth: int = 4) -> list[ast.AST]:
    """The expressions that a value may come from, those of functions of the same file that are called on the way included."""
    found: list[ast.AST] = []
    todo: list[tuple[ast.AST, int]] = [(start, 0)]
    done: set[int] = set()
    while todo:
        node, level = todo.pop()
        nodes = backward_slice(source, node)
        found += nodes
        if level == depth:
            continue
        for call in (inner for part in nodes for inner in ast.walk(part) if isinstance(inner, ast.Call)):
            for function in _functions_called(source, call):
                if id(function) not in done:
                    done.add(id(function))
                    todo += [(value, level + 1) for value in _values_given_back(function)]
    return found


def _functions_called(source: SourceText, call: ast.Call) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """By name alone; a call of something that is no function of this file may be a module's ``forward``."""
    if source.tree is None:
        return
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    functions = [n for n in ast.walk(source.tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    named = [function for function in functions if function.name == name]
    yield from named or [function for function in functions if function.name in ("forward", "__call__")]


def _values_given_back(function: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        if isinstance(node, (ast.Return, ast.Yield)) and node.value is not None:
            yield node.value
