"""Keeps tensors as tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import called, names_read
from gradwhy.static import tensors_kept
from gradwhy.static.first_use import binds
from gradwhy.static.remedy import Fault
from gradwhy.static.rewrites import without_method

_SHOWN = frozenset({"print", "float", "format", "round", "str"})


def remedies(fault: Fault) -> Iterable[Fix]:
    """Both ends of the detour; without ``.item()`` where the number was only added up into the loss."""
    found = list(tensors_kept.remedies(fault))
    yield from found
    silent = (fault.symptom or "").startswith("silent-")
    if found or not silent or not isinstance(fault.node, ast.Call) or called(fault.node) != "item":
        return
    if _is_term(fault, fault.node) and (edit := without_method(fault, fault.node, ("item",))) is not None:
        title = Message("item.fix", {"result": Code(edit.new_text)})
        yield Fix(title=title, applicability="unsafe", edits=(edit,))


def _is_term(fault: Fault, node: ast.expr) -> bool:
    """Whether the number is added up under a name that nothing takes for a number: arithmetic, a return, a print."""
    source = fault.source
    inner: ast.AST = node
    while isinstance(parent := source.parents.get(inner), (ast.BinOp, ast.UnaryOp)):
        inner = parent
    target = parent.target if isinstance(parent, ast.AugAssign) else None
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        target = parent.targets[0]  # type: ignore[assignment]
    if not isinstance(target, ast.Name):
        return False
    scope = source.function(node) or source.tree
    if _goes_on(fault, node, target.id):
        return False
    reads = [n for n in ast.walk(scope or ast.Module([], [])) if isinstance(n, ast.Name) and n.id == target.id]
    return all(isinstance(n.ctx, ast.Store) or _stays_tensor(source.parents.get(n)) for n in reads)


def _stays_tensor(parent: ast.AST | None) -> bool:
    if isinstance(parent, ast.Call):
        return called(parent) in _SHOWN
    return isinstance(parent, (ast.BinOp, ast.UnaryOp, ast.Return, ast.AugAssign, ast.FormattedValue, ast.Attribute))


def _goes_on(fault: Fault, node: ast.expr, name: str) -> bool:
    """Whether the sum goes on through steps that go backward: as a tensor it would keep the graphs of all of them."""
    for loop in fault.source.enclosing(node):
        if isinstance(loop, (ast.For, ast.AsyncFor, ast.While)) and any(
            called(n) == "backward" for n in ast.walk(loop)
        ):
            return not any(
                binds(n, name) and name not in names_read(n) for n in ast.walk(loop) if isinstance(n, ast.Assign)
            )
        if isinstance(loop, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
    return False
