"""Takes what is subtracted from a running remainder for a constant."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import dotted_name
from gradwhy.static.remedy import Fault, replace


def remedies(fault: Fault) -> Iterable[Fix]:
    """``residual = residual - quantized`` -> ``residual - quantized.detach()``, where ``quantized`` has the remainder's
    own gradient passed straight through."""
    node = fault.node
    statement = fault.source.statement(node)
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub) or not isinstance(statement, ast.Assign):
        return
    name = dotted_name(statement.targets[0])
    if statement.value is node and name and dotted_name(node.left) == name and isinstance(node.right, ast.Name):
        text = f"{node.right.id}.detach()"
        title = Message("derivative-cancels.fix", {"result": Code(text)})
        yield Fix(title=title, applicability="unsafe", edits=(replace(fault, node.right, text),))
