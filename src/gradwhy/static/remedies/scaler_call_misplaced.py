"""Moves ``unscale_`` between the backward pass and the step."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import called
from gradwhy.static import lines
from gradwhy.static.remedy import Fault


def remedies(fault: Fault) -> Iterable[Fix]:
    """Below the pass that follows it, above the step before it; where both stand in one block."""
    statement = fault.source.statement(fault.node)
    if not isinstance(statement, ast.Expr) or called(statement.value) != "unscale_":
        return
    block = fault.source.block(statement)
    here = block.index(statement) if block else 0
    if fault.headline == "headline-early":
        to = next((s for s in block[here + 1 :] if lines.goes_backward(s)), None)
        edits = lines.move(fault, statement, to, after=True) if isinstance(to, ast.Expr) else ()
    elif fault.headline == "headline-late":
        to = next((s for s in reversed(block[:here]) if lines.steps(s)), None)
        edits = lines.move(fault, statement, to) if isinstance(to, ast.Expr) else ()
    else:
        return
    if edits:
        title = Message("scaler-call-misplaced.fix", {"result": Code(fault.source.segment(statement))})
        yield Fix(title=title, applicability="unsafe", edits=edits)
