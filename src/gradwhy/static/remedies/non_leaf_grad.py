"""Keeps the gradient of a computed tensor, or makes it the leaf whose gradient is read."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import called, dotted_name, names_read
from gradwhy.source.text import SourceText
from gradwhy.static.first_use import on_line_before, use_before
from gradwhy.static.leaves import flag_last, whole
from gradwhy.static.remedy import Fault, Spot, replace
from gradwhy.static.rewrites import indent_of


def remedies(fault: Fault) -> Iterable[Fix]:
    """The flag after the conversion where one expression has both; ``with torch.no_grad(): w -= ...`` for a leaf that was
    replaced by its update; else ``retain_grad()`` before the backward pass."""
    if fault.headline == "headline-rebound":
        yield from _in_place(fault)
        return
    value = whole(fault.source, fault.node) if isinstance(fault.node, ast.expr) else None
    edits = flag_last(fault, value) if value is not None else []
    if edits:
        yield Fix(title=Message("non-leaf-grad.fix-leaf"), applicability="unsafe", edits=tuple(edits))
        return
    read = fault.spot("read", "surfaces")
    statement = fault.source.statement(fault.node)
    if isinstance(statement, ast.Assign) and isinstance(target := statement.targets[0], ast.Name):
        if {target.id, f"{target.id}.grad"} <= names_read(statement.value):
            yield from _in_place(fault)
            return
    if read is not None:
        yield from _retained(read)


def _retained(read: Spot) -> Iterable[Fix]:
    """``x.retain_grad()`` above the statement that goes backward, or right after ``x`` was made in the same function."""
    source = read.source
    name = _whose(read.node)
    statement = source.statement(read.node)
    if not name or statement is None:
        return
    use = use_before(source, statement, name) if name.isidentifier() else None
    made = use.binding if use is not None and use.how == "assigned" else None
    back = _backward(source, statement)
    if back is not None and (made is None or getattr(made, "lineno", 0) < back.lineno):
        edits = on_line_before(read, back, f"{name}.retain_grad()")
        if edits:
            title = Message("non-leaf-grad.fix", {"name": Code(name)})
            yield Fix(title=title, applicability="safe", edits=tuple(edits))


def _whose(node: ast.AST) -> str:
    """``net.h`` of the one ``net.h.grad`` in an expression."""
    reads = {dotted_name(n.value) for n in ast.walk(node) if isinstance(n, ast.Attribute) and n.attr == "grad"}
    return next(iter(reads)) if len(reads) == 1 else ""


def _backward(source: SourceText, statement: ast.stmt) -> ast.stmt | None:
    """The statement before this one, in its block or in one around it, that calls ``backward``."""
    here: ast.stmt = statement
    while True:
        block = source.block(here)
        for earlier in reversed(block[: block.index(here)] if here in block else []):
            if any(called(n) == "backward" for n in ast.walk(earlier)):
                return earlier if isinstance(earlier, (ast.Expr, ast.Assign)) else None
        parent = source.parents.get(here)
        if not isinstance(parent, ast.stmt) or isinstance(
            parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        ):
            return None
        here = parent


def _in_place(fault: Fault) -> Iterable[Fix]:
    """``w = w - lr * w.grad`` -> ``w -= lr * w.grad`` under ``no_grad``; its gradient is cleared where nothing does so."""
    source = fault.source
    statement = source.statement(fault.node)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    target, value = statement.targets[0], statement.value
    if not isinstance(target, ast.Name) or not isinstance(value, ast.BinOp) or not isinstance(value.left, ast.Name):
        return
    sign = {ast.Sub: "-=", ast.Add: "+="}.get(type(value.op))
    if sign is None or value.left.id != target.id or source.span(statement).line != source.span(statement).end_line:
        return
    indent = indent_of(source, statement.lineno)
    by = "\t" if indent.startswith("\t") else "    "
    text = f"with torch.no_grad():\n{indent}{by}{target.id} {sign} {source.segment(value.right)}"
    if not _is_cleared(source, statement, target.id):
        text += f"\n{indent}{target.id}.grad = None"
    title = Message("non-leaf-grad.fix-update", {"name": Code(target.id)})
    yield Fix(title=title, applicability="unsafe", edits=(replace(fault, statement, text),))


def _is_cleared(source: SourceText, statement: ast.stmt, name: str) -> bool:
    """Whether the function clears the gradient: ``w.grad.zero_()``, ``w.grad = None``, ``zero_grad()``."""
    scope = source.function(statement) or source.tree
    for node in ast.walk(scope or ast.Module([], [])):
        if called(node) == "zero_grad":
            return True
        if isinstance(node, ast.Call) and dotted_name(node.func) == f"{name}.grad.zero_":
            return True
        if isinstance(node, ast.Assign) and any(dotted_name(t) == f"{name}.grad" for t in node.targets):
            return True
    return False
