"""Makes one layer for each place, where a list holds the same one several times."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import called
from gradwhy.static.remedy import Fault, replace


def remedies(fault: Fault) -> Iterable[Fix]:
    """``[Layer(d)] * n`` -> ``[Layer(d) for _ in range(n)]``."""
    node, source = fault.node, fault.source
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult) or not isinstance(node.left, ast.List):
        return
    if len(node.left.elts) != 1 or not called(node.left.elts[0])[:1].isupper():
        return
    new = f"[{source.segment(node.left.elts[0])} for _ in range({source.segment(node.right)})]"
    title = Message("double-use.fix", {"result": Code(new)})
    yield Fix(title=title, applicability="unsafe", edits=(replace(fault, node, new),))
