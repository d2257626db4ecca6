"""A statement that names a method and does not call it: ``optimizer.step`` -> ``optimizer.step()``."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.static.remedy import Fault, replace

_HEADLINE = "headline-uncalled"


def called_now(fault: Fault) -> Iterable[Fix]:
    """The parentheses, where the fault is that they are missing."""
    if fault.headline == _HEADLINE and isinstance(fault.node, ast.Attribute):
        result = f"{fault.source.segment(fault.node)}()"
        title = Message(f"{fault.cause}.fix-uncalled", {"result": Code(result)})
        yield Fix(title=title, applicability="unsafe", edits=(replace(fault, fault.node, result),))
