"""Gradients that were used already and are added to again: nothing clears them between two steps."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Argument, Finding, Message, Step
from gradwhy.runtime.audit.case import Case, Held, at
from gradwhy.runtime.audit.ledger import Pass

RANK = 15
CAUSE = "missing-zero_grad"


def find(case: Case) -> Iterable[Finding]:
    for held in case.optimizers:
        closure = _in_closure(held, case)
        if closure is not None:
            yield case.finding(
                CAUSE, "silent-accumulate", at(closure.chain[0]), key="closure",
                steps=[Step(at=closure.chain[0].location(), note=Message(f"{CAUSE}.added"))],
            )  # fmt: skip
            continue
        stray = _stray(held, case)
        if stray is not None:
            other, own = stray
            shown = [
                Step(at=other.chain[0].location(), note=Message(f"{CAUSE}.stray")),
                Step(at=own.chain[0].location(), note=Message(f"{CAUSE}.added")),
            ]
            yield case.finding(
                CAUSE, "silent-accumulate", at(own.chain[0]), key="stray", steps=shown, severity="warning"
            )
            continue
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


def _in_closure(held: Held, case: Case) -> Pass | None:
    """A pass inside of ``step(closure)`` that adds to what an earlier call of the closure left."""
    inside = [p for p in case.ledger.passes if p.inside_step and p.chain and any(map(p.fills, held.ids))]
    adding = [
        later
        for earlier, later in zip(inside, inside[1:])
        if later.leaves == earlier.leaves and not later.empty & held.ids and not _cleared(earlier, later, held, case)
    ]
    return adding[-1] if len(adding) > 2 and len(adding) * 4 >= 3 * (len(inside) - 1) else None


def _cleared(earlier: Pass, later: Pass, held: Held, case: Case) -> bool:
    return any(e.ids & held.ids for e in case.ledger.events_between("clear", earlier.order, later.order))


def _stray(held: Held, case: Case) -> tuple[Pass, Pass] | None:
    """(a pass that another optimizer has stepped on, the pass of this one that adds to it): nothing clears between them."""
    found: list[tuple[Pass, Pass]] = []
    own_steps = [s for s in case.ledger.steps if s.optimizer == held.number]
    for before, step in zip(own_steps, own_steps[1:]):
        passes = [p for p in case.ledger.passes if before.order < p.order < step.order and any(map(p.fills, held.ids))]
        if len(passes) < 2:
            continue
        first, last = passes[0], passes[-1]
        stepped = [s for s in case.ledger.steps if first.order < s.order < last.order and s.optimizer != held.number]
        if stepped and first.chain and last.chain and first.chain != last.chain:
            if not last.empty & held.ids and not _cleared(first, last, held, case):
                found.append((first, last))
    return found[-1] if len(found) > 1 and len(found) >= len(own_steps[1:]) - 1 else None
