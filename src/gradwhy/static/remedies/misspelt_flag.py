"""Spells the flag right, or calls the method that reaches a module's parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Edit, Fix, Message
from gradwhy.source.slicing import dotted_name
from gradwhy.static.flow.flags import FLAG
from gradwhy.static.remedy import Fault, replace


def remedies(fault: Fault) -> Iterable[Fix]:
    """``p.require_grad = False`` sets nothing on a parameter, ``module.requires_grad = False`` nothing on a module, and
    ``p.requires_grad_ = False`` hides the method."""
    node = fault.node
    statement = fault.source.statement(node)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    target = statement.targets[0]
    if node not in (statement, target) or not isinstance(target, ast.Attribute) or not dotted_name(target):
        return
    if target.attr in (FLAG, f"{FLAG}_") or fault.headline.startswith("headline-module"):
        owner, value = fault.source.segment(target.value), fault.source.segment(statement.value)
        edit: Edit = replace(fault, statement, f"{owner}.{FLAG}_({value})")
    else:
        edit = replace(fault, target, f"{fault.source.segment(target.value)}.{FLAG}")
    title = Message("frozen-all.fix", {"result": Code(edit.new_text)})
    yield Fix(title=title, applicability="unsafe", edits=(edit,))
