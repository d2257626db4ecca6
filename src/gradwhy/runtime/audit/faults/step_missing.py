"""Gradients that arrive step after step, and an optimizer that is never stepped."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Argument, Finding
from gradwhy.runtime.audit.case import Case, at

RANK = 11
CAUSE = "step-missing"


def find(case: Case) -> Iterable[Finding]:
    if case.ledger.steps or not case.watch.journal.optimizers:
        return
    passes = [p for p in case.ledger.passes if p.accumulates and p.chain and not p.wanted]
    cleared = [e for e in case.ledger.events if e.kind == "clear"]
    if len(passes) > 2 and len(cleared) > 1:
        facts: dict[str, Argument] = {"count": len(passes)}
        named = case.named_only("step")
        place = named or at(passes[-1].chain[0])
        key = "uncalled" if named is not None else ""
        yield case.finding(CAUSE, "silent-not-in-optimizer", place, facts=facts, key=key)
