"""Calls of functions that can't be seen, and that the project's settings say something of."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from gradwhy.static.flow.histories import Value
from gradwhy.static.flow.ops import computed, cut
from gradwhy.static.flow.values import Instance, Tensor, Unknown, flows

if TYPE_CHECKING:
    from gradwhy.static.flow.run import Run

DECLARED: Final = "declared"
"""The name of a history whose cut is known from the settings alone."""
_CLASS = "#class"


def call(r: Run, path: str, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value | None:
    """The result of ``path(...)``; None where the settings say nothing of it."""
    effect = r.knowledge.effect(path) if r.knowledge else None
    if effect is None:
        return None
    given = [flow for value in (*args, *keywords.values()) for flow in flows(value)]
    if effect == "keep":
        return computed(r, node, given, name=path)
    flow = cut(r, node, given, "not-differentiable")
    flow.name = DECLARED
    return Tensor(flow, made=node)


def made_by(r: Run, path: str, node: ast.AST) -> Unknown:
    """What a function out of sight gives: an object of the class, where the name is that of one."""
    made = Unknown(node)
    if r.knowledge and path.rpartition(".")[2][:1].isupper():
        made.f[_CLASS] = path
    return made


def call_method(
    r: Run, owner: Value, name: str, args: list[Value], keywords: dict[str, Value], node: ast.AST
) -> Value | None:
    """The same for a method of an object whose class can't be seen, or descends from such a class."""
    path = ""
    if isinstance(owner, Unknown):
        path = owner.f.get(_CLASS, "")
    elif isinstance(owner, Instance):
        path = owner.cls.base
    return call(r, f"{path}.{name}", args, keywords, node) if path else None
