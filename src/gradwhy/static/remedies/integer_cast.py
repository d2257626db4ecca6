"""Leaves out a cast to integers of what is to require grad."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import called
from gradwhy.static.remedy import Fault
from gradwhy.static.rewrites import without_method

_CASTS = ("long", "int", "short")
_ROUNDED = frozenset({"round", "floor", "ceil", "trunc"})


def remedies(fault: Fault) -> Iterable[Fix]:
    """``x.round().long()`` -> ``x.round()``, where the result was refused the flag."""
    node = fault.node
    inner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    if fault.symptom != "dtype-no-grad" or called(node) not in _CASTS or called(inner) not in _ROUNDED:
        return
    edit = without_method(fault, node, _CASTS)
    if edit is not None:
        title = Message("integer-cast.fix", {"result": Code(edit.new_text)})
        yield Fix(title=title, applicability="unsafe", edits=(edit,))
