"""Gives the operation a harmless argument where its result is left out."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import called, dotted_name
from gradwhy.static.remedy import Fault, replace

# Where these have a finite slope.
_SAFE = {
    "sqrt": "1.0", "rsqrt": "1.0", "log": "1.0", "log2": "1.0", "log10": "1.0", "log1p": "1.0", "reciprocal": "1.0",
    "acos": "0.5", "asin": "0.5", "atanh": "0.5", "acosh": "2.0",
}  # fmt: skip


def remedies(fault: Fault) -> Iterable[Fix]:
    """``torch.where(ok, x.sqrt(), 0)`` -> ``torch.where(ok, torch.where(ok, x, 1.0).sqrt(), 0)``, and the same with
    ``masked_fill``: both as PyTorch's autograd notes on undefined gradients ask."""
    call = fault.node
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.keywords:
        return
    if dotted_name(call.func) == "torch.where" and len(call.args) == 3:
        condition = fault.source.segment(call.args[0])
        branches = [("torch.where({0}, {1}, {2})", call.args[1]), ("torch.where({0}, {2}, {1})", call.args[2])]
    elif call.func.attr == "masked_fill" and len(call.args) == 2:
        condition = fault.source.segment(call.args[0])
        branches = [("{1}.masked_fill({0}, {2})", call.func.value)]
    else:
        return
    risky = [(form, part) for form, branch in branches for part in _risky(branch)]
    if len(risky) != 1 or "\n" in condition:
        return
    form, (argument, value) = risky[0]
    text = fault.source.segment(argument)
    plain = isinstance(argument, (ast.Name, ast.Attribute, ast.Call)) or form.startswith("torch")
    safe = form.format(condition, text if plain else f"({text})", value)
    title = Message("where-nan.fix", {"result": Code(safe)})
    yield Fix(title=title, applicability="unsafe", edits=(replace(fault, argument, safe),))


def _risky(branch: ast.expr) -> Iterable[tuple[ast.expr, str]]:
    """(argument, a value at which the slope is finite) of the operations in a branch that have none everywhere."""
    for node in ast.walk(branch):
        if isinstance(node, ast.Call) and (value := _SAFE.get(called(node))) and not node.keywords:
            if isinstance(node.func, ast.Attribute):
                on_torch = dotted_name(node.func.value) == "torch"
                if on_torch and len(node.args) == 1:
                    yield node.args[0], value
                elif not on_torch and not node.args:
                    yield node.func.value, value
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and not isinstance(node.right, ast.Constant):
            yield node.right, "1.0"
