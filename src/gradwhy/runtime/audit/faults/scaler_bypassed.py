"""Steps on gradients that still have the factor of a ``GradScaler``: the optimizer was stepped past it."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Finding, Message, Step
from gradwhy.runtime.audit.case import Case, at

RANK = 13
CAUSE = "scaler-bypassed"


def find(case: Case) -> Iterable[Finding]:
    for held in case.optimizers:
        steps = [s for s in case.ledger.steps if s.optimizer == held.number]
        past = []
        for before, step in zip([None, *steps], steps):
            since = before.order if before is not None else -1
            calls = [c for c in case.watch.scaling.calls if since < c.order < step.order]
            scaled = [c for c in calls if c.method == "scale"]
            if scaled and step.fed and not step.scaled and not any(c.method == "unscale_" for c in calls):
                past.append((scaled[-1], step))
        if len(past) > 1 and past[-1][1].chain:
            scale, step = past[-1]
            shown = [
                Step(at=scale.chain[0].location(), note=Message(f"{CAUSE}.scaled")),
                Step(at=step.chain[0].location(), note=Message(f"{CAUSE}.stepped")),
            ]
            yield case.finding(CAUSE, "silent-wrong-grad", at(step.chain[0]), key="audit", steps=shown)
