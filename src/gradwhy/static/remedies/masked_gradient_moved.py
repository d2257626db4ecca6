"""Takes the weight decay from an optimizer of masked values."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Edit, Fix, Message
from gradwhy.source.slicing import called
from gradwhy.static.remedy import Fault, replace
from gradwhy.static.rewrites import with_keyword

_OPTION = "weight_decay"


def remedies(fault: Fault) -> Iterable[Fix]:
    if fault.headline == "headline-decay" and isinstance(fault.node, ast.Call):
        edit = _without_decay(fault, fault.node)
        if edit is not None:
            title = Message("masked-gradient-moved.fix-decay", {"optimizer": Code(called(fault.node))})
            yield Fix(title=title, applicability="unsafe", edits=(edit,))


def _without_decay(fault: Fault, call: ast.Call) -> Edit | None:
    """The option in the call, in the one group that has it, or added where it is the optimizer's default."""
    in_groups = [
        value
        for node in ast.walk(call)
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values)
        if isinstance(key, ast.Constant) and key.value == _OPTION and not _is_zero(value)
    ]
    keyword = next((each for each in call.keywords if each.arg == _OPTION), None)
    if any(each.arg is None for each in call.keywords) or (in_groups and keyword is not None) or len(in_groups) > 1:
        return None
    if in_groups:
        return replace(fault, in_groups[0], "0.0")
    return with_keyword(fault, call, _OPTION, "0.0")


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0
