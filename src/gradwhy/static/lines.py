"""Edits of whole statements: one put before or after another, or moved there, where each has its lines for itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradwhy.findings import Edit
from gradwhy.source.slicing import bound_names, called, dotted_name, targets
from gradwhy.source.text import SourceText, Span
from gradwhy.static.remedy import Written, replace
from gradwhy.static.rewrites import indent_of, whole_lines_out

_BLOCKS = ("body", "orelse", "finalbody")
_BACKWARD = frozenset({"backward", "manual_backward"})


def in_block(source: SourceText, node: ast.AST, block: list[ast.stmt]) -> ast.stmt | None:
    """The statement of a block that holds a node, or None; a function that is defined there does not run there."""
    for each in (node, *source.enclosing(node)):
        if isinstance(each, ast.stmt) and each in block:
            return each
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            return None
    return None


def alone(source: SourceText, statement: ast.stmt) -> bool:
    """Whether no other statement shares a statement's lines."""
    span = source.span(statement)
    before = source.line(span.line)[: span.column - 1]
    after = source.line(span.end_line)[span.end_column - 1 :].strip()
    return not before.strip() and (not after or after.startswith("#"))


def put_before(where: Written, statement: ast.stmt, text: str) -> Edit | None:
    """``text`` as a line above a statement, None where there is no room for a line."""
    if not alone(where.source, statement) or getattr(statement, "decorator_list", None):
        return None
    line = statement.lineno
    return replace(where, Span(line, 1, line, 1), _indented(text, indent_of(where.source, line)))


def put_after(where: Written, statement: ast.stmt, text: str) -> Edit | None:
    """``text`` as a line below a statement, None where there is no room for a line."""
    source = where.source
    if not alone(source, statement) or statement.end_lineno is None:
        return None
    line = statement.end_lineno
    indented = _indented(text, indent_of(source, statement.lineno))
    if line < len(source.lines):
        return replace(where, Span(line + 1, 1, line + 1, 1), indented)
    end = len(source.line(line)) + 1
    return replace(where, Span(line, end, line, end), "\n" + indented.rstrip("\n"))


def _indented(text: str, indent: str) -> str:
    return "".join(f"{indent}{line}\n" for line in text.split("\n"))


def move(where: Written, statement: ast.stmt, to: ast.stmt, after: bool = False) -> tuple[Edit, ...]:
    """A statement of one line moved before or after another one; () where that can't be done line by line."""
    source = where.source
    if statement.end_lineno != statement.lineno or not alone(source, statement):
        return ()
    if len(source.block(statement)) < 2:
        return ()
    text = source.line(statement.lineno).strip()
    put = put_after(where, to, text) if after else put_before(where, to, text)
    return (put, whole_lines_out(where, statement.lineno, statement.lineno)) if put is not None else ()


def calls(node: ast.AST, *names: str) -> Iterator[ast.Call]:
    """The calls of one of these names in a node, in order; functions that are only defined there left out."""
    found = [inner for inner in _within(node) if isinstance(inner, ast.Call) and (not names or called(inner) in names)]
    yield from sorted(found, key=lambda call: (call.lineno, call.col_offset))


def _within(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            yield from _within(child)


def goes_backward(node: ast.AST, through: frozenset[str] = frozenset()) -> bool:
    """Whether a statement has a backward pass; ``through`` are functions of the program that have one."""
    return any(True for _ in calls(node, *_BACKWARD, *through))


def stepped(call: ast.Call) -> str:
    """The optimizer of ``optimizer.step()``, ``scaler.step(optimizer)``; "" for what steps no optimizer."""
    if called(call) != "step" or not isinstance(call.func, ast.Attribute):
        return ""
    owner = dotted_name(call.func.value)
    if call.args:
        given = dotted_name(call.args[0])
        return given if "scaler" in owner.lower() else owner if _optimizes(owner) else ""
    return owner if _optimizes(owner) or not _schedules(owner) else ""


def _optimizes(name: str) -> bool:
    return "opt" in name.rpartition(".")[2].lower()


def _schedules(name: str) -> bool:
    last = name.rpartition(".")[2].lower()
    return "lr" in last.split("_") or any(part in last for part in ("sch", "scaler", "warmup", "ema", "env", "prof"))


def steps(node: ast.AST) -> list[tuple[ast.Call, str]]:
    """(call, optimizer) of the steps in a node."""
    return [(call, name) for call in calls(node, "step") if (name := stepped(call))]


def rebinds(nodes: list[ast.stmt], name: str) -> bool:
    """Whether one of the statements gives a name, or what it belongs to, another value."""
    wanted = {name, name.partition(".")[0]}
    return any(
        wanted & set(bound_names(target)) for node in nodes for inner in ast.walk(node) for target in targets(inner)
    )


def reads_gradients(nodes: list[ast.stmt]) -> bool:
    """Whether one of the statements looks at ``.grad``, or clips."""
    return any(
        (isinstance(inner, ast.Attribute) and inner.attr == "grad")
        or (isinstance(inner, ast.Call) and ("clip" in called(inner) or "norm" in called(inner)))
        for node in nodes
        for inner in ast.walk(node)
    )
