"""The write on a line that torch refused: what it was to write to, and the switch that made it in place."""

from __future__ import annotations

import ast
from typing import Any

import torch

from gradwhy.runtime import account, live
from gradwhy.runtime.account import Place
from gradwhy.runtime.failure import LiveFrame
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.sites import Site


def target(frame: LiveFrame, situation: Situation) -> tuple[str, Any] | None:
    """(the user's name, tensor) of what the failing line writes to, where the live frame shows it."""
    node = _written(account.statement_of(frame.site), frame.site.node())
    source = frame.site.source
    while node is not None and source is not None:
        found = live.value(node, frame)
        if issubclass(type(found), torch.Tensor):
            return source.segment(node), found
        node = _inner(node)
    for name, tensor in live.operands(frame):
        if tensor.requires_grad and tensor.is_leaf:
            return name, tensor
    return None


def _written(statement: ast.stmt | None, node: ast.AST | None) -> ast.AST | None:
    if isinstance(statement, ast.AugAssign):
        return statement.target
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_"):
        return node.func.value
    if isinstance(statement, ast.Assign):
        return next((t for t in statement.targets if isinstance(t, ast.Subscript)), None)
    return None


def _inner(node: ast.AST) -> ast.AST | None:
    """What an item, an attribute or a chained call is taken of."""
    if isinstance(node, (ast.Subscript, ast.Attribute)):
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.value
    return None


def switched_on(frame: LiveFrame) -> Place | None:
    """``nn.ReLU(inplace=True)`` where a called module writes: the place in the file that asks for it, where just one does."""
    node, source = frame.site.node(), frame.site.source
    if not isinstance(node, ast.Call) or source is None:
        return None
    if isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_"):
        return None
    module = live.value(node.func, frame)
    return switch(frame.site, type(module).__name__ if issubclass(type(module), torch.nn.Module) else "")


def switch(site: Site, name: str = "") -> Place | None:
    """The one call with ``inplace=True`` in the file of a site; of several, the one of that name."""
    source = site.source
    if source is None or source.tree is None:
        return None
    calls = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call) and _asks_for_inplace(node)]
    wanted = name.lower().replace("_", "")
    alike = [node for node in calls if account.called(node).lower().replace("_", "") == wanted]
    chosen = alike if len(alike) == 1 else calls if len(calls) == 1 else []
    at = account.place_of(site, chosen[0]) if chosen else None
    return Place(at, source.segment(chosen[0])) if at is not None else None


def _asks_for_inplace(node: ast.Call) -> bool:
    return any(
        k.arg == "inplace" and isinstance(k.value, ast.Constant) and k.value.value is True for k in node.keywords
    )
