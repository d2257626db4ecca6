"""``unscale_()`` or ``step()`` of a ``GradScaler``, called twice for one optimizer in one step."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Finding
from gradwhy.static import scaling
from gradwhy.static.order import same_block
from gradwhy.static.program import Program

CAUSE = "scaler-call-repeated"


def check(program: Program) -> Iterable[Finding]:
    """Two lines of one block, one after the other, with no ``update()`` between."""
    told: set[int] = set()
    for calls in scaling.calls(program):
        for (_, one), (_, other) in zip(calls, calls[1:]):
            same = one.optimizer is other.optimizer is not None and one.subject == other.subject
            if same and one.subject in ("unscale_", "step") and one.at is not other.at and id(other.at) not in told:
                if same_block(program, one, other):
                    told.add(id(other.at))
                    yield scaling.tell(program, CAUSE, other, one.subject.rstrip("_"), {})
