"""Puts the part that needs no gradients into a block that ends by itself."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Edit, Fix, Message
from gradwhy.static.remedy import Fault, replace
from gradwhy.static.rewrites import indent_of, moved


def remedies(fault: Fault) -> Iterable[Fix]:
    """``torch.set_grad_enabled(False)`` as a statement becomes ``with torch.no_grad():`` over the rest of its block."""
    source = fault.source
    statement = source.statement(fault.node)
    function = source.function(fault.node)
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return
    call = statement.value
    constant = bool(call.args) and isinstance(call.args[0], ast.Constant)
    by_hand = isinstance(call.func, ast.Attribute) and call.func.attr == "__enter__"
    if not (constant or by_hand):
        return
    block = source.block(statement)
    rest = block[block.index(statement) + 1 :] if block else []
    if any(isinstance(node, (ast.Yield, ast.YieldFrom)) for part in rest for node in ast.walk(part)):
        # What runs inside is somewhere else; the block would switch it off as well.
        return
    last = rest[-1].end_lineno if rest else None
    failing = fault.spot("surfaces")
    lines = [*fault.live, *([failing.node.lineno] if failing is not None and failing.file == fault.file else [])]  # type: ignore[attr-defined]
    if function is not None and rest and last is not None and not any(statement.lineno < n <= last for n in lines):
        indent = indent_of(source, statement.lineno)
        by = "\t" if indent.startswith("\t") else "    "
        edits: list[Edit] = [replace(fault, statement, "with torch.no_grad():")]
        edits += moved(fault, statement.lineno + 1, last, by, out=False)
        yield Fix(title=Message("grad-mode-left-off.fix-block"), applicability="unsafe", edits=tuple(edits))
    elif constant:
        edit = replace(fault, call.args[0], "True")
        yield Fix(title=Message("grad-mode-left-off.fix-on"), applicability="unsafe", edits=(edit,))
