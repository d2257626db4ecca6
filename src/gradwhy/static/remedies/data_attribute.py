"""Leaves out what makes a copy without history."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.static.remedies.detach import is_kept
from gradwhy.static.remedy import Fault
from gradwhy.static.rewrites import is_helper, without_method


def remedies(fault: Fault) -> Iterable[Fix]:
    keeps = is_kept(fault) or is_helper(fault, fault.node)
    edit = without_method(fault, fault.node, ("data",)) if not keeps else None
    if edit is not None:
        title = Message(f"{fault.cause}.fix", {"result": Code(edit.new_text)})
        yield Fix(title=title, applicability="unsafe", edits=(edit,))
