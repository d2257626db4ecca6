"""Puts 0 in the place of a logarithm that is -inf, before it is multiplied by its own probability."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import called
from gradwhy.static.remedy import Fault, replace


def remedies(fault: Fault) -> Iterable[Fix]:
    """``logp.exp() * logp`` -> ``logp.exp() * logp.masked_fill(logp.isneginf(), 0.0)``: 0 log 0 counts as 0."""
    node = fault.node
    if fault.headline != "headline-product" or not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return
    for weight, logarithm in ((node.left, node.right), (node.right, node.left)):
        if isinstance(logarithm, ast.Name) and _exponential(weight) == logarithm.id:
            text = f"{logarithm.id}.masked_fill({logarithm.id}.isneginf(), 0.0)"
            title = Message("log-of-zero.fix-product", {"result": Code(text)})
            yield Fix(title=title, applicability="unsafe", edits=(replace(fault, logarithm, text),))
            return


def _exponential(node: ast.expr) -> str:
    """``logp`` of ``logp.exp()`` and ``torch.exp(logp)``."""
    if not isinstance(node, ast.Call) or called(node) != "exp" or not isinstance(node.func, ast.Attribute):
        return ""
    inner = node.args[0] if len(node.args) == 1 else node.func.value
    return inner.id if isinstance(inner, ast.Name) else ""
