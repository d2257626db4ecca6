"""Detaches into a new tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import called, dotted_name
from gradwhy.static.rebinding import may_bind
from gradwhy.static.remedy import Fault, replace


def remedies(fault: Fault) -> Iterable[Fix]:
    """``h.detach_()`` -> ``h = h.detach()``."""
    source, statement = fault.source, fault.source.statement(fault.node)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or called(call) != "detach_" or not isinstance(call.func, ast.Attribute):
        return
    name = dotted_name(call.func.value)
    if name and statement is not None and may_bind(source, statement, name):
        edit = replace(fault, call, f"{name} = {name}.detach()")
        yield Fix(
            title=Message("detach-inplace.fix", {"result": Code(edit.new_text)}), applicability="unsafe", edits=(edit,)
        )
