"""Puts this rank's own tensor back into what ``all_gather`` has filled."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import called, dotted_name
from gradwhy.static import lines
from gradwhy.static.remedy import Fault


def remedies(fault: Fault) -> Iterable[Fix]:
    """``parts[dist.get_rank()] = x`` after ``dist.all_gather(parts, x)``: the others' parts stay without a history."""
    statement = fault.source.statement(fault.node)
    call = next(lines.calls(fault.node, "all_gather"), None)
    if not isinstance(statement, ast.Expr) or call is None or statement.value is not call:
        return
    owner = dotted_name(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    if not owner or len(call.args) != 2 or call.keywords or not isinstance(call.args[0], ast.Name):
        return
    own = call.args[1]
    if called(own) == "contiguous" and isinstance(own, ast.Call) and isinstance(own.func, ast.Attribute):
        own = own.func.value
    if not isinstance(own, (ast.Name, ast.Attribute)):
        return
    text = f"{call.args[0].id}[{owner}.get_rank()] = {fault.source.segment(own)}"
    edit = lines.put_after(fault, statement, text)
    if edit is not None:
        title = Message("collective-not-recorded.fix", {"result": Code(text)})
        yield Fix(title=title, applicability="unsafe", edits=(edit,))
