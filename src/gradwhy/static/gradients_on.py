"""Moves what needs gradients out of a block, decorator or call that switches them off."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Edit, Fix, Message
from gradwhy.source.text import Span
from gradwhy.static.remedy import Fault, replace
from gradwhy.static.rewrites import indent_of, moved, step_of, whole_lines_out


def remedies(fault: Fault) -> Iterable[Fix]:
    """A decorator is taken off; a block loses the statements that must run with gradients."""
    if fault.is_decorator:
        if closure := _closure(fault):
            yield from closure
            return
        inner = _live_in_decorated(fault)
        yield from _around_call(fault, inner) if inner is not None else _without_decorator(fault)
        return
    statement = fault.source.statement(fault.node)
    if isinstance(statement, ast.With) and len(statement.items) == 1:
        yield from _out_of_block(fault, statement)


def _closure(fault: Fault) -> list[Fix]:
    """A ``step(closure)`` that is right to go without gradients, and calls what needs them, as torch/optim/lbfgs.py."""
    function = fault.source.parents.get(fault.node)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or fault.cause == "inference_mode-context":
        return []
    given = [a.arg for a in function.args.args[: len(function.args.args) - len(function.args.defaults)]]
    calls = [
        n
        for n in ast.walk(function)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "closure"
    ]
    documented = isinstance(function.body[0], ast.Expr) and isinstance(function.body[0].value, ast.Constant)
    first = function.body[1 if documented and len(function.body) > 1 else 0]
    indent = indent_of(fault.source, first.lineno)
    if "closure" not in given or not calls or fault.source.span(first).column != len(indent) + 1:
        return []
    start = Span(first.lineno, 1, first.lineno, 1)
    edit = replace(fault, start, f"{indent}closure = torch.enable_grad()(closure)\n")
    return [Fix(title=Message(f"{fault.cause}.fix-call"), applicability="safe", edits=(edit,))]


def _live_in_decorated(fault: Fault) -> ast.stmt | None:
    """The statement of the decorated function that was being executed, and called what failed."""
    for outer in fault.source.enclosing(fault.node):
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines = range(outer.lineno, (outer.end_lineno or outer.lineno) + 1)
            line = next((n for n in reversed(fault.live) if n in lines), None)
            return _call_elsewhere(fault, line) if line is not None else None
    return None


def _around_call(fault: Fault, statement: ast.stmt) -> Iterable[Fix]:
    if fault.cause == "inference_mode-context":
        # enable_grad() does not end inference mode, and tensors made in it can't be saved for a backward pass.
        return
    title = Message(f"{fault.cause}.fix-call")
    yield Fix(title=title, applicability="unsafe", edits=tuple(_enabled(fault, statement)))


def _without_decorator(fault: Fault) -> Iterable[Fix]:
    span = fault.source.span(fault.node)
    if fault.source.line(span.line).strip().startswith("@"):
        edit = whole_lines_out(fault, span.line, span.end_line)
        yield Fix(title=Message(f"{fault.cause}.fix-decorator"), applicability="unsafe", edits=(edit,))


def _out_of_block(fault: Fault, block: ast.With) -> Iterable[Fix]:
    body = block.body
    line = next((n for n in reversed(fault.live) if block.lineno < n <= (block.end_lineno or 0)), None)
    if line is not None:
        inner = _call_elsewhere(fault, line)
        if inner is not None:
            yield from _around_call(fault, inner)
            return
        lines = {line, *(n for n in fault.needed if block.lineno < n <= (block.end_lineno or 0))}
        needed = [i for i, part in enumerate(body) if any(part.lineno <= n <= (part.end_lineno or 0) for n in lines)]
        if needed and needed[0] > 0 and block.items[0].optional_vars is None:
            first = _with_comments(fault, body, _start_of_run(body, needed))
            by = step_of(fault.source, block.lineno, body[0].lineno)
            moved_out = moved(fault, first, block.end_lineno or block.lineno, by, out=True)
            yield Fix(title=Message(f"{fault.cause}.fix-move"), applicability="unsafe", edits=tuple(moved_out))
            return
    if body[0].lineno > block.lineno and not _collects(block):
        by = step_of(fault.source, block.lineno, body[0].lineno)
        head = whole_lines_out(fault, block.lineno, body[0].lineno - 1)
        body_out = moved(fault, body[0].lineno, block.end_lineno or block.lineno, by, out=True)
        yield Fix(title=Message(f"{fault.cause}.fix-block"), applicability="unsafe", edits=(head, *body_out))


def _collects(block: ast.With) -> bool:
    """Whether the block acts and keeps what came of it, for a pass that computes it anew: it is right without gradients."""
    names = {n.func.attr for n in ast.walk(block) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)}
    return bool(names & {"sample", "multinomial"}) and any(isinstance(n, (ast.For, ast.While)) for n in ast.walk(block))


def _start_of_run(body: list[ast.stmt], needed: list[int]) -> int:
    """The first statement to move: the first needed one, with those before it that only prepare it."""
    start = needed[0]
    while start > 0 and _prepares(body[start - 1]):
        start -= 1
    return start


def _prepares(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return isinstance(statement.value.func, ast.Attribute) and statement.value.func.attr in (
            "train",
            "zero_grad",
        )
    return isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)


def _with_comments(fault: Fault, body: list[ast.stmt], index: int) -> int:
    """The line where a statement begins, its own comments above it included."""
    line = body[index].lineno
    least = (body[index - 1].end_lineno or 0) + 1 if index else line
    while line > least and fault.source.line(line - 1).lstrip().startswith("#"):
        line -= 1
    return line


def _call_elsewhere(fault: Fault, line: int) -> ast.stmt | None:
    """The statement on a line, where the failing call was made from it in another function."""
    statement = fault.source.statement_at(line)
    if not isinstance(statement, (ast.Assign, ast.Expr, ast.AugAssign, ast.AnnAssign)):
        return None
    names = {n.func.attr for n in ast.walk(statement) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)}
    return None if names & {"backward", "grad"} else statement


def _enabled(fault: Fault, statement: ast.stmt) -> Iterable[Edit]:
    indent = indent_of(fault.source, statement.lineno)
    by = "\t" if indent.startswith("\t") else "    "
    start = Span(statement.lineno, 1, statement.lineno, 1)
    yield replace(fault, start, f"{indent}with torch.enable_grad():\n{by}")
    yield from moved(fault, statement.lineno + 1, statement.end_lineno or statement.lineno, by, out=False)
