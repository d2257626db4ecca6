"""What names and attributes stand for in a frame that is still live, looked up without running the user's code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import torch

from gradwhy.runtime.failure import Failure, LiveFrame
from gradwhy.runtime.names import attributes_of


def value(node: ast.AST, live: LiveFrame) -> Any:
    """The object that a name, an attribute chain or a constant index stands for; None where it can't be told.

    Properties and ``__getitem__`` of the user's classes are not called.
    """
    if isinstance(node, ast.Name):
        frame = live.frame
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if isinstance(node, ast.Attribute):
        return attribute(value(node.value, live), node.attr)
    if isinstance(node, ast.Subscript):
        return _item(items(node.value, live), _key(node.slice, live))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "next" and node.args:
        return _item(items(node.args[0], live), 0)
    return None


def items(node: ast.AST, live: LiveFrame) -> Any:
    """The list, tuple or dict that an expression stands for, the parameters of a module that are asked for, or the members
    of a plain container of modules; None where it can't be told."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("list", "tuple", "iter"):
        return items(node.args[0], live) if len(node.args) == 1 else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner, name = value(node.func.value, live), node.func.attr
        own = getattr(type(owner), name, None) if issubclass(type(owner), torch.nn.Module) else None
        if name in ("parameters", "named_parameters") and own is getattr(torch.nn.Module, name) and not node.args:
            return list(own(owner))
        return None
    held = value(node, live)
    if type(held) in _CONTAINERS:
        return list(held._modules.values())
    return held if type(held) in (list, tuple, dict) else None


_CONTAINERS = (torch.nn.Sequential, torch.nn.ModuleList)


def _key(node: ast.AST, live: LiveFrame) -> Any:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return -node.operand.value if type(node.operand.value) is int else None
    return node.value if isinstance(node, ast.Constant) else value(node, live)


def _item(held: Any, key: Any) -> Any:
    if type(held) is dict:
        return held.get(key) if isinstance(key, (str, int)) else None
    if type(held) in (list, tuple) and type(key) is int and -len(held) <= key < len(held):
        return held[key]
    return None


def attribute(held: Any, name: str) -> Any:
    """An instance attribute; of a module also a parameter, buffer or submodule."""
    attributes = attributes_of(held) or {}
    if name in attributes:
        return attributes[name]
    if issubclass(type(held), torch.nn.Module):
        for kind in ("_parameters", "_buffers", "_modules"):
            part = attributes.get(kind)
            if isinstance(part, dict) and name in part:
                return part[name]
    return None


def operands(live: LiveFrame) -> Iterator[tuple[str, Any]]:
    """(text, tensor) of what the expression at a frame's instruction reads, from the outside in."""
    site = live.site
    node, source = site.node(), site.source
    node = node if node is not None else source.statement_at(site.line) if source is not None else None
    seen: set[int] = set()
    if node is None or source is None:
        return
    for inner in ast.walk(node):
        if isinstance(inner, (ast.Name, ast.Attribute, ast.Subscript)):
            found = value(inner, live)
            if issubclass(type(found), torch.Tensor) and id(found) not in seen:
                seen.add(id(found))
                yield source.segment(inner), found


def library_tensors(failure: Failure) -> Iterator[Any]:
    """The tensors in the local variables of torch's own frames below the user's line, the innermost first."""
    for live in reversed(failure.frames):
        if live.is_users:
            return
        yield from (held for held in live.frame.f_locals.values() if issubclass(type(held), torch.Tensor))
