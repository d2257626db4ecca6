"""Leaves out what makes a copy without history; a copy whose own gradient is asked for becomes a leaf."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.static.leaves import called, with_suffix
from gradwhy.static.remedy import Fault
from gradwhy.static.rewrites import without_method


def remedies(fault: Fault) -> Iterable[Fix]:
    node = fault.node
    if fault.symptom == "input-no-grad" and isinstance(node, ast.Call) and called(node) == "detach":
        # Detached on purpose, between two rounds of an attack: only the flag is missing.
        edits = with_suffix(fault, node, ".requires_grad_(True)")
        yield Fix(title=Message("detach.fix-leaf"), applicability="unsafe", edits=tuple(edits))
        return
    edit = without_method(fault, node, ("detach", "detach_"))
    if edit is not None:
        title = Message(f"{fault.cause}.fix", {"result": Code(edit.new_text)})
        yield Fix(title=title, applicability="unsafe", edits=(edit,))
