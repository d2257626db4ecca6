"""Keeps the argument of an operation away from the values at which it has no finite slope."""

from __future__ import annotations

import ast

from gradwhy.findings import Code, Edit, Fix, Message
from gradwhy.runtime import account, editing
from gradwhy.runtime.sites import Site
from gradwhy.source.text import SourceText

_SMALL = {"float16": "1e-4", "bfloat16": "1e-6"}


def fixes(cause: str, dtype: str, site: Site) -> tuple[Fix, ...] | None:
    """An edit where the operation stands there by itself: ``x.sqrt()``, ``torch.log(x)``, ``a / b``, ``x ** 0.5``."""
    node, source = site.node(), site.source
    argument = _argument(cause, node) if node is not None else None
    if source is None or argument is None:
        return None
    edit = _guarded(cause, dtype, argument, node, source)
    title = Message(f"{cause}.fix", {"result": Code(edit.new_text)})
    return (Fix(title=title, applicability="unsafe", edits=(edit,)),)


def _argument(cause: str, node: ast.AST) -> ast.expr | None:
    if isinstance(node, ast.BinOp):
        if cause == "division-by-zero" and isinstance(node.op, ast.Div):
            return node.right
        return node.left if cause == "sqrt-of-zero" and isinstance(node.op, ast.Pow) else None
    names = {
        "sqrt-of-zero": ("sqrt", "pow"),
        "log-of-zero": ("log", "log2", "log10"),
        "out-of-domain": ("acos", "asin"),
    }
    if not isinstance(node, ast.Call) or account.called(node) not in names.get(cause, ()):
        return None
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if owner is None or (isinstance(owner, ast.Name) and owner.id == "torch"):
        return node.args[0] if node.args and not isinstance(node.args[0], ast.Starred) else None
    return owner


def _guarded(cause: str, dtype: str, argument: ast.expr, node: ast.AST | None, source: SourceText) -> Edit:
    value = editing.operand(source, argument)
    if cause == "sqrt-of-zero":
        return editing.instead(source, argument, _added(value, _SMALL.get(dtype, "1e-12"), argument, node))
    if cause == "out-of-domain":
        return editing.instead(source, argument, f"{value}.clamp(-1 + 1e-6, 1 - 1e-6)")
    return editing.instead(source, argument, f"{value}.clamp(min={_SMALL.get(dtype, '1e-8')})")


def _added(value: str, small: str, argument: ast.expr, node: ast.AST | None) -> str:
    """In brackets but where the sum is a whole argument of a call."""
    whole = isinstance(node, ast.Call) and argument in node.args
    return f"{value} + {small}" if whole else f"({value} + {small})"
