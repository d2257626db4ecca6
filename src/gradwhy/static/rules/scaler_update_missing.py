"""Steps of a ``GradScaler`` in turn after turn, and no ``update()`` between them."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Finding
from gradwhy.source.slicing import dotted_name
from gradwhy.static import scaling
from gradwhy.static.program import Program

CAUSE = "scaler-update-missing"


def check(program: Program) -> Iterable[Finding]:
    """The second turn raises: one line steps twice, a pass comes between, and the file never calls ``update()``."""
    for calls in scaling.calls(program):
        steps = [(index, call) for index, call in calls if call.subject == "step"]
        again = [(a, b) for (a, one), (b, other) in zip(steps, steps[1:]) if one.at is other.at]
        if not again or any(call.subject == "update" for _, call in calls) or _updates(program, steps[0][1].at):
            continue
        between = program.events[again[0][0] : again[0][1]]
        if any(event.kind in scaling.BACKWARD for event in between):
            yield scaling.tell(program, CAUSE, steps[0][1], "", {})


def _updates(program: Program, step: ast.AST) -> bool:
    """Whether the file has a call ``scaler.update()`` at all, perhaps where it was not looked at."""
    owner = step.func.value if isinstance(step, ast.Call) and isinstance(step.func, ast.Attribute) else None
    name = dotted_name(owner).rpartition(".")[2] if owner is not None else ""
    return any(
        isinstance(node, ast.Attribute) and node.attr == "update" and dotted_name(node.value).rpartition(".")[2] == name
        for node in program.all_nodes()
    )
