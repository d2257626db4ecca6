"""Writes the assignment that a comparison stands for, which leaves the mask of a hook at zero."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import names_read
from gradwhy.static.remedy import Fault, replace


def remedies(fault: Fault) -> Iterable[Fix]:
    """``mask[rows:] == 1`` as a statement does nothing: ``mask[rows:] = 1``, where the hook reads ``mask``."""
    scope = fault.source.function(fault.node) or fault.source.tree
    if fault.headline != "headline-zero" or scope is None:
        return
    read = names_read(fault.node)
    for node in ast.walk(scope):
        value = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(value, ast.Compare) or len(value.ops) != 1 or not isinstance(value.ops[0], ast.Eq):
            continue
        left = value.left
        if isinstance(left, ast.Subscript) and isinstance(left.value, ast.Name) and left.value.id in read:
            text = f"{fault.source.segment(left)} = {fault.source.segment(value.comparators[0])}"
            title = Message("hook-return.fix", {"result": Code(text)})
            yield Fix(title=title, applicability="unsafe", edits=(replace(fault, value, text),))
            return
