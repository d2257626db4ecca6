"""Makes a list of what gives its items only once."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.static.remedy import Fault, replace


def remedies(fault: Fault) -> Iterable[Fix]:
    """``params = model.parameters()`` -> ``params = list(model.parameters())``."""
    node, source = fault.node, fault.source
    if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
        node = node.value
    statement = source.statement(node)
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is not node:
        return
    if isinstance(node, ast.GeneratorExp):
        text = source.segment(node)
        new = f"[{text[1:-1]}]" if text.startswith("(") and text.endswith(")") else f"list({text})"
    elif isinstance(node, ast.Call):
        new = f"list({source.segment(node)})"
    else:
        return
    title = Message("iterator-used-up.fix", {"result": Code(new)})
    yield Fix(title=title, applicability="safe", edits=(replace(fault, node, new),))
