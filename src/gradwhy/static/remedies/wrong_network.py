"""Gives the optimizer the network that is trained."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import dotted_name
from gradwhy.static.leaves import parameters_of
from gradwhy.static.remedy import Fault, replace


def remedies(fault: Fault) -> Iterable[Fix]:
    """``self.target.parameters()`` -> ``self.online.parameters()``, where both are held by the same object."""
    name, other = fault.args.get("name"), fault.args.get("other")
    if not isinstance(name, Code) or not isinstance(other, Code):
        return
    given = [owner for n in ast.walk(fault.node) if (owner := parameters_of(n)) is not None]
    if len(given) != 1:
        return
    new = _renamed(dotted_name(given[0]).split("."), name.text.split("."), other.text.split("."))
    if not new:
        return
    title = Message("wrong-network.fix", {"result": Code(f"{new}.parameters()")})
    yield Fix(title=title, applicability="unsafe", edits=(replace(fault, given[0], new),))


def _renamed(wrote: list[str], held: list[str], wanted: list[str]) -> str:
    """``self.target`` as ``self.online``, where ``self.target.net`` is held and ``self.online.net`` is wanted."""
    if len(held) != len(wanted):
        return ""
    other = [i for i, (a, b) in enumerate(zip(held, wanted, strict=True)) if a != b]
    if len(other) != 1 or not wanted[other[0]].isidentifier():
        return ""
    index = other[0]
    # The same path as far as the part that differs, from its beginning or, under another name, from its end.
    if wrote[-1] != held[index] or (len(wrote) > 1) != (index > 0):
        return ""
    return ".".join([*wrote[:-1], wanted[index]])
