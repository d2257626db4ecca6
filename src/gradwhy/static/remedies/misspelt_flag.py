"""Spells the flag right, or calls the method that reaches a module's parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Edit, Fix, Message
from gradwhy.static.flow.flags import FLAG
from gradwhy.static.remedy import Fault, replace


def remedies(fault: Fault) -> Iterable[Fix]:
    """``p.require_grad = False`` sets nothing on a parameter, ``module.requires_grad = False`` nothing on a module."""
    node = fault.node
    statement = fault.source.statement(node)
    if not isinstance(node, ast.Attribute) or not isinstance(statement, ast.Assign) or node not in statement.targets:
        return
    if len(statement.targets) > 1:
        return
    if node.attr != FLAG:
        edit: Edit = replace(fault, node, f"{fault.source.segment(node.value)}.{FLAG}")
    else:
        owner, value = fault.source.segment(node.value), fault.source.segment(statement.value)
        edit = replace(fault, statement, f"{owner}.{FLAG}_({value})")
    title = Message("frozen-all.fix", {"result": Code(edit.new_text)})
    yield Fix(title=title, applicability="unsafe", edits=(edit,))
