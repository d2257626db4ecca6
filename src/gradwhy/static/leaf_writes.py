"""Writes to leaves: which of them update or initialize a tensor that is trained, and the same with gradients off."""

from __future__ import annotations

import ast

from gradwhy.findings import Edit
from gradwhy.source.slicing import dotted_name, names_read
from gradwhy.source.text import SourceText, Span
from gradwhy.static.fresh import base_of
from gradwhy.static.rebinding import read_after
from gradwhy.static.remedy import Fault, replace
from gradwhy.static.rewrites import indent_of, moved

_FORWARD = ("forward", "__call__", "training_step", "loss", "call")


def is_update(fault: Fault) -> bool:
    """Whether a write gives a leaf new values to keep, as a step or an initialization does; else it is one operation of a
    forward pass, and gradients should flow through it."""
    source = fault.source
    statement = source.statement(fault.node)
    name = written(statement) if statement is not None else ""
    if statement is None or not name or not _only_writes(statement):
        return False
    if any(read.rpartition(".")[2] == "grad" for read in names_read(statement)):
        return True
    function = source.function(statement)
    if getattr(function, "name", "") in _FORWARD and not _constrains(source, statement, name):
        return False
    if "." in name or any(item.kind == "parameter" for item in fault.evidence):
        return True
    given = {a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg)} if function is not None else set()
    return name not in given and not (function is not None and read_after(source, statement, name))


def _constrains(source: SourceText, statement: ast.stmt, name: str) -> bool:
    """Whether the function belongs to an object that is no module and writes to a tensor of one that it is given, as in
    ``def __call__(self, module): module.weight.clamp_(min=0)``: a constraint or an initializer, and no forward pass."""
    function = source.function(statement)
    owner = next((outer for outer in source.enclosing(statement) if isinstance(outer, ast.ClassDef)), None)
    root, _, rest = name.partition(".")
    if not isinstance(function, ast.FunctionDef) or function.name != "__call__" or owner is None or not rest:
        return False
    if any("Module" in dotted_name(base) for base in owner.bases):
        return False
    given = [a.arg for a in (*function.args.posonlyargs, *function.args.args)][1:]
    return root in given and not read_after(source, statement, name)


def without_gradients(fault: Fault) -> list[Edit]:
    """The statement, with its neighbours that update leaves too, in a block ``with torch.no_grad():``."""
    source = fault.source
    statement = source.statement(fault.node)
    name = torch_name(source)
    if statement is None or not name:
        return []
    block = source.block(statement)
    if not block:
        return []
    first = last = block.index(statement)
    base = written(statement)
    while first and _writes(block[first - 1], base):
        first -= 1
    while last + 1 < len(block) and _writes(block[last + 1], base):
        last += 1
    at = source.span(block[first])
    end = block[last].end_lineno or block[last].lineno
    if source.line(at.line)[: at.column - 1].strip() or source.line(end).count(";"):
        return []
    indent = indent_of(source, at.line)
    by = "\t" if indent.startswith("\t") else "    "
    start = Span(at.line, 1, at.line, 1)
    edits = [replace(fault, start, f"{indent}with {name}.no_grad():\n{by}")]
    return [*edits, *moved(fault, at.line + 1, end, by, out=False)]


def written(statement: ast.stmt) -> str:
    """The name that a statement writes to in place, "" for none."""
    if isinstance(statement, ast.AugAssign):
        return base_of(statement.target)
    if isinstance(statement, ast.Assign):
        return base_of(statement.targets[0]) if isinstance(statement.targets[0], ast.Subscript) else ""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        inner: ast.expr = statement.value
        while isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr.endswith("_"):
            inner = inner.func.value
        return base_of(inner) if inner is not statement.value else ""
    return ""


def _only_writes(statement: ast.stmt) -> bool:
    """Whether nothing takes a result of the statement but by what it wrote to."""
    return isinstance(statement, (ast.AugAssign, ast.Expr)) or (
        isinstance(statement, ast.Assign) and len(statement.targets) == 1
    )


def _writes(statement: ast.stmt, base: str) -> bool:
    """``w -= lr * w.grad`` and ``w.grad.zero_()`` beside it, and what else writes to the same leaf."""
    name = written(statement)
    if name == base:
        return True
    reads_grad = any(read.rpartition(".")[2] == "grad" for read in names_read(statement))
    return bool(name) and reads_grad


def torch_name(source: SourceText) -> str:
    """The name that the file has for torch."""
    for node in ast.walk(source.tree or ast.Module([], [])):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "torch" or (alias.name.startswith("torch.") and alias.asname is None):
                    return alias.asname or "torch"
    return ""
