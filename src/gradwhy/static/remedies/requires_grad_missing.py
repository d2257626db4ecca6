"""Makes a tensor that is to be trained, or whose gradient is asked for, require grad before it is used."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import called
from gradwhy.static.first_use import flagged_before_use
from gradwhy.static.leaves import MAKERS, with_suffix
from gradwhy.static.remedy import Fault, Spot
from gradwhy.static.rewrites import with_keyword

_KEYWORD = MAKERS - {"as_tensor", "from_numpy", "normal"}


def remedies(fault: Fault) -> Iterable[Fix]:
    """``requires_grad=True`` where the tensor is made; where a gradient is asked for by name, before that name is used."""
    name, asked = fault.args.get("name"), fault.spot("asked", "read", "surfaces")
    found: list[Fix] = []
    if isinstance(name, Code) and asked is not None and fault.headline == "headline-entry":
        found = list(flagged(fault, asked, name.text))
        yield from found
    if not found and called(fault.node) in _KEYWORD and isinstance(fault.node, ast.Call) and not _is_operand(fault):
        edit = with_keyword(fault, fault.node, "requires_grad", "True")
        yield Fix(title=Message("requires_grad-missing.fix"), applicability="unsafe", edits=(edit,))
    elif fault.headline == "headline" and isinstance(fault.node, ast.BinOp):
        edits = with_suffix(fault, fault.node, ".requires_grad_(True)")
        title = Message("requires_grad-missing.fix-before", {"name": Code(fault.source.segment(fault.node))})
        yield Fix(title=title, applicability="unsafe", edits=tuple(edits))


def flagged(fault: Fault, asked: Spot, name: str) -> Iterable[Fix]:
    """``name.requires_grad_(True)`` before it is used, in the function that asks for its gradient or in the one that calls it."""
    statement = asked.source.statement(asked.node)
    edits = flagged_before_use(asked, statement, name) if statement is not None else []
    if edits:
        title = Message(f"{fault.cause}.fix-before", {"name": Code(name)})
        yield Fix(title=title, applicability="unsafe", edits=tuple(edits))


def _is_operand(fault: Fault) -> bool:
    """Whether more is computed from the call at once: then what has a name is no leaf."""
    parent = fault.source.parents.get(fault.node)
    return isinstance(parent, (ast.BinOp, ast.UnaryOp, ast.Attribute))
