"""``unscale_()`` of a ``GradScaler`` before there are gradients, or after the step that wanted them."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Finding
from gradwhy.static import scaling
from gradwhy.static.order import same_block
from gradwhy.static.program import Program

CAUSE = "scaler-call-misplaced"


def check(program: Program) -> Iterable[Finding]:
    """The pass or the step stands in the same block, on the wrong side of it."""
    told: set[int] = set()
    for calls in scaling.calls(program):
        for (_, one), (_, other) in zip(calls, calls[1:]):
            if one.optimizer is None or one.optimizer is not other.optimizer:
                continue
            late = one.subject == "step" and other.subject == "unscale_" and same_block(program, one, other)
            if late and id(other.at) not in told:
                told.add(id(other.at))
                yield scaling.tell(program, CAUSE, other, "late", {})
        for number, (index, call) in enumerate(calls):
            if call.subject != "unscale_" or call.optimizer is None or id(call.at) in told:
                continue
            earlier = [e for e in program.events[:index] if e.kind in scaling.BACKWARD or e.kind == "entry"]
            after = program.events[index + 1 :]
            passed = next((e for e in after if e.kind in scaling.BACKWARD), None)
            step = next((e for _, e in calls[number + 1 :] if e.subject == "step"), None)
            if not earlier and passed is not None and step is not None and call.optimizer is step.optimizer:
                if same_block(program, call, passed) and same_block(program, call, step):
                    told.add(id(call.at))
                    yield scaling.tell(program, CAUSE, call, "early", {})
