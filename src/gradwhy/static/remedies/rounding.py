"""Passes the gradient straight through a step function, or samples between the points of a grid."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Edit, Fix, Message
from gradwhy.source.slicing import called
from gradwhy.static import lines
from gradwhy.static.remedy import Fault, replace

_STEPS = frozenset({"round", "floor", "ceil", "trunc", "fix", "sign", "sgn"})
_SIMPLE = (ast.Name, ast.Attribute, ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Load)


def remedies(fault: Fault) -> Iterable[Fix]:
    """``x.round()`` -> ``x + (x.round() - x).detach()`` (Bengio et al., 2013), ``mode="nearest"`` -> ``"bilinear"``."""
    node = fault.node
    if isinstance(node, ast.Call) and called(node) == "grid_sample":
        for keyword in node.keywords:
            if keyword.arg == "mode" and isinstance(keyword.value, ast.Constant) and keyword.value.value == "nearest":
                yield _fix("fix-mode", 'mode="bilinear"', replace(fault, keyword.value, '"bilinear"'))
    elif isinstance(node, ast.Call) and called(node) in _STEPS:
        yield from _straight_through(fault, node)
    elif isinstance(node, ast.BinOp):
        yield from _turned(fault, node)


def _straight_through(fault: Fault, node: ast.Call) -> Iterable[Fix]:
    source = fault.source
    if not isinstance(node.func, ast.Attribute) or node.keywords:
        return
    on_torch = isinstance(node.func.value, ast.Name) and node.func.value.id == "torch"
    given = node.args[0] if on_torch and len(node.args) == 1 else node.func.value if not node.args else None
    if given is None or isinstance(given, ast.Constant):
        return
    if all(isinstance(inner, _SIMPLE) for inner in ast.walk(given)):
        text = _passed(fault, node, source.segment(given), source.segment(node))
        if text:
            yield _fix("fix", text, replace(fault, node, text))
        return
    # What is rounded is computed once.
    statement = source.statement(node)
    name = next((word for word in ("value", "soft", "raw") if word not in _names(fault, node)), "")
    if name and isinstance(statement, (ast.Return, ast.Assign)) and statement.value is node:
        put = lines.put_before(fault, statement, f"{name} = {source.segment(given)}")
        named = f"torch.{node.func.attr}({name})" if on_torch else f"{name}.{node.func.attr}()"
        text = f"{name} + ({named} - {name}).detach()"
        if put is not None and node.lineno == node.end_lineno:
            yield _fix("fix", text, put, replace(fault, node, text))


def _passed(fault: Fault, node: ast.Call, given: str, rounded: str) -> str:
    """The expression that has the value of the rounded one and the slope of what was rounded."""
    if "\n" in rounded:
        return ""
    plain = (
        given
        if given.startswith("(") or isinstance(ast.parse(given, mode="eval").body, (ast.Name, ast.Attribute))
        else ""
    )
    text = f"{given} + ({rounded} - {plain or f'({given})'}).detach()"
    statement = fault.source.statement(node)
    whole = isinstance(statement, (ast.Return, ast.Assign)) and statement.value is node
    outer = fault.source.parents.get(node)
    argument = isinstance(outer, ast.Call) and node in outer.args
    return text if whole or argument else f"({text})"


def _turned(fault: Fault, node: ast.BinOp) -> Iterable[Fix]:
    """``hard + (soft - hard).detach()`` -> ``soft + (hard - soft).detach()``."""
    source = fault.source
    if not isinstance(node.op, ast.Add) or called(node.right) != "detach" or not isinstance(node.right, ast.Call):
        return
    held = getattr(node.right.func, "value", None)
    if not isinstance(held, ast.BinOp) or not isinstance(held.op, ast.Sub):
        return
    hard, soft, again = (source.segment(part) for part in (node.left, held.left, held.right))
    if hard == again and isinstance(node.left, (ast.Name, ast.Attribute)):
        if isinstance(held.left, (ast.Name, ast.Attribute)):
            text = f"{soft} + ({hard} - {soft}).detach()"
            yield _fix("fix", text, replace(fault, node, text))


def _names(fault: Fault, node: ast.AST) -> set[str]:
    scope = fault.source.function(node) or fault.source.tree
    found = {n.id for n in ast.walk(scope) if isinstance(n, ast.Name)} if scope is not None else set()
    return found | ({n.arg for n in ast.walk(scope) if isinstance(n, ast.arg)} if scope is not None else set())


def _fix(key: str, result: str, *edits: Edit) -> Fix:
    title = Message(f"rounding.{key}", {"result": Code(result)})
    return Fix(title=title, applicability="unsafe", edits=edits)
