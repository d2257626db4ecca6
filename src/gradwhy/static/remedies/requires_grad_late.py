"""Sets the flag before the value is used, where both stand in the same function."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import bound_names, dotted_name, names_read, targets
from gradwhy.source.text import Span
from gradwhy.static.remedy import Fault, replace
from gradwhy.static.rewrites import whole_lines_out


def remedies(fault: Fault) -> Iterable[Fix]:
    """``x.requires_grad_()`` moves above the first statement of its block that reads ``x`` and does not make it."""
    source = fault.source
    flag = source.statement(fault.node)
    name = _flagged(fault.node)
    block = getattr(source.parents.get(flag), "body", None) if flag is not None else None
    if flag is None or not name or not isinstance(block, list) or flag not in block:
        return
    first: ast.stmt | None = None
    for statement in block[: block.index(flag)]:
        if name in {bound for target in targets(statement) for bound in bound_names(target)}:
            first = None
        elif first is None and name in names_read(statement):
            first = statement
    if first is None or flag.end_lineno is None:
        return
    text = "\n".join(source.line(number) for number in range(flag.lineno, flag.end_lineno + 1))
    start = Span(first.lineno, 1, first.lineno, 1)
    edits = (replace(fault, start, f"{text}\n"), whole_lines_out(fault, flag.lineno, flag.end_lineno))
    title = Message("requires-grad-late.fix", {"use": Code(source.segment(first))})
    yield Fix(title=title, applicability="unsafe", edits=edits)


def _flagged(node: ast.AST) -> str:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return dotted_name(node.func.value)
    return dotted_name(node.value) if isinstance(node, ast.Attribute) else ""
