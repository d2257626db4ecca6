"""Gradients that were used already and are added to again: nothing clears them between two steps."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Argument, Finding, Message, Step
from gradwhy.runtime.audit.case import Case, at

RANK = 15
CAUSE = "missing-zero_grad"


def find(case: Case) -> Iterable[Finding]:
    for held in case.optimizers:
        steps = [s for s in case.ledger.steps if s.optimizer == held.number]
        later = steps[1:]
        if len(later) < 2 or not all(step.carried for step in later[-8:]):
            continue
        last = later[-1]
        passes = [p for p in case.ledger.passes if p.accumulates and p.order < last.order and p.held & held.ids]
        if not passes or not passes[-1].chain or passes[-1].inside_step:
            continue
        facts: dict[str, Argument] = {"count": len(later)}
        stepped = [Step(at=last.chain[0].location(), note=Message(f"{CAUSE}.stepped"))] if last.chain else []
        added = Step(at=passes[-1].chain[0].location(), note=Message(f"{CAUSE}.added"))
        yield case.finding(CAUSE, "silent-accumulate", at(passes[-1].chain[0]), facts=facts, steps=[added, *stepped])
