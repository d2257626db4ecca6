"""Differences of a prediction and a target that were spread over each other: (N, 1) and (N,) give (N, N)."""

from __future__ import annotations

import ast
from types import FrameType
from typing import Any

import torch

from gradwhy.runtime.account import shape_of
from gradwhy.runtime.audit.ledger import Ledger
from gradwhy.runtime.recorder import Recorder
from gradwhy.runtime.records import node_of
from gradwhy.runtime.sites import Site, user_frame
from gradwhy.source.slicing import definitions, dotted_name

KIND = "broadcast"
_FUNCTIONS = ("sub", "__sub__", "__rsub__", "rsub", "subtract", "mul", "__mul__", "__rmul__", "multiply", "div", "__truediv__",
              "squared_difference", "maximum", "minimum", "add", "__add__", "__radd__")  # fmt: skip
_ON_PURPOSE = ("unsqueeze", "view", "reshape", "expand", "newaxis", "expand_as", "broadcast_to", "outer")


def listen(recorder: Recorder, ledger: Ledger) -> None:
    """Hear of the results of binary operations that have a path."""

    def heard(args: Any, kwargs: Any, result: Any, frame: FrameType) -> None:
        tensors = [each for each in args[:2] if isinstance(each, torch.Tensor)]
        if len(tensors) == 2 and isinstance(result, torch.Tensor) and result.requires_grad:
            if args[0].shape != args[1].shape and _spread(args[0], args[1], result):
                _mark(args[0], args[1], result, frame, ledger)

    for name in _FUNCTIONS:
        for owner in (torch, torch.Tensor):
            function = getattr(owner, name, None)
            if function is not None:
                before = recorder.listeners.get(function)
                recorder.listeners[function] = heard if before is None else _both(before, heard)


def _both(first: Any, second: Any) -> Any:
    def each(*args: Any) -> None:
        first(*args)
        second(*args)

    return each


def _spread(a: Any, b: Any, result: Any) -> bool:
    """Whether both were repeated, so that each of N predictions meets each of N targets of the same batch."""
    if a.requires_grad is b.requires_grad or a.dim() == b.dim() or not a.dim() or not b.dim():
        return False
    batch = int(a.shape[0])
    return (
        batch > 1
        and batch == int(b.shape[0])
        and result.numel() > max(a.numel(), b.numel())
        and result.numel() >= batch * max(a.numel(), b.numel()) // max(min(a.numel(), b.numel()) // batch, 1)
    )


def _mark(a: Any, b: Any, result: Any, frame: FrameType, ledger: Ledger) -> None:
    user, node = user_frame(frame), node_of(result)
    if user is None or node is None:
        return
    site = Site(user.f_code, user.f_lasti)
    if site in ledger.marked.get(KIND, {}) or not _is_on_purpose(site):
        shapes = {"left": shape_of(a), "right": shape_of(b), "result": shape_of(result)}
        ledger.mark(KIND, site, node._sequence_nr(), shapes)


def _is_on_purpose(site: Site) -> bool:
    """Whether a dimension was written in on purpose: ``[:, None]``, ``unsqueeze``, on the line or where its names are bound."""
    node, source = site.node(), site.source
    if node is None or source is None:
        return False
    scope = source.function(node) or source.tree
    bound = list(definitions(scope)) if scope is not None else []
    for operand in _operands(node):
        name = dotted_name(operand)
        values = [value for names, value, _ in bound if name and name in names]
        if any(_adds_a_dimension(each) for each in (operand, *values)):
            return True
    return False


def _operands(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Call):
        return [*([node.func.value] if isinstance(node.func, ast.Attribute) else []), *node.args]
    return [node]


def _adds_a_dimension(node: ast.AST) -> bool:
    """Of an expression, as far as the shape of its result goes: what is inside of a call's arguments does not count."""
    if isinstance(node, ast.Subscript):
        return any(isinstance(n, ast.Constant) and n.value is None for n in ast.walk(node.slice))
    if isinstance(node, ast.BinOp):
        return _adds_a_dimension(node.left) or _adds_a_dimension(node.right)
    if isinstance(node, ast.UnaryOp):
        return _adds_a_dimension(node.operand)
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _ON_PURPOSE or any(k.arg == "keepdim" for k in node.keywords):
            return True
        return isinstance(node.func, ast.Attribute) and _adds_a_dimension(node.func.value)
    return False
