"""Gradients that arrive step after step, and an optimizer that is never stepped."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Evidence, Finding, Message, Step
from gradwhy.runtime.audit.case import Case, at

RANK = 11
CAUSE = "step-missing"


def find(case: Case) -> Iterable[Finding]:
    if not case.ledger.steps:
        yield from _none(case)
    else:
        yield from _one(case)


def _none(case: Case) -> Iterable[Finding]:
    """No optimizer steps."""
    if not case.watch.journal.optimizers:
        return
    passes = [p for p in case.ledger.passes if p.accumulates and p.chain and not p.wanted]
    cleared = [e for e in case.ledger.events if e.kind == "clear"]
    if len(passes) > 2 and len(cleared) > 1:
        facts: dict[str, Argument] = {"count": len(passes)}
        named = case.named_only("step")
        place = named or at(passes[-1].chain[0])
        key = "uncalled" if named is not None else ""
        yield case.finding(CAUSE, "silent-not-in-optimizer", place, facts=facts, key=key)


def _one(case: Case) -> Iterable[Finding]:
    """Others step, and this one's gradients are filled and cleared in turn."""
    used = {number for number, times in case.ledger.updates.items() if times}
    stepped = {key for held in case.optimizers if held.number in used for key in held.ids}
    for held in case.optimizers:
        ids = held.ids
        if held.number in used or not ids or ids & stepped:
            continue
        passes = [p for p in case.ledger.passes if p.chain and p.wanted is None and any(p.fills(key) for key in ids)]
        # A pass for another optimizer may go through these as well: their own comes first.
        own = [p for p in passes if not p.leaves & stepped] or passes
        cleared = [e for e in case.ledger.events if e.kind == "clear" and e.ids & ids]
        if len(own) > 2 and len(cleared) > 1:
            case.claimed |= ids
            facts: dict[str, Argument] = {"optimizer": Code(held.kind), "name": case.called(ids), "count": len(own)}
            seen = {"steps": 0, "backward_passes": len(own), "cleared": len(cleared)}
            yield case.finding(
                CAUSE, "silent-not-in-optimizer", at(own[-1].chain[0]), facts=facts, key="one", certain=False,
                evidence=[Evidence(kind="optimizer", subject=held.kind, facts=seen)],
                steps=[Step(at=held.chain[0].location(), note=Message(f"{CAUSE}.made"))] if held.chain else (),
            )  # fmt: skip
