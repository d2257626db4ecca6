"""Gradients that are cleared before anything used them: between ``backward()`` and ``step()``, or within an accumulation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradwhy.findings import Argument, Finding, Message, Step
from gradwhy.runtime.audit.case import Case, Held, at
from gradwhy.runtime.audit.ledger import Chain, Event, Pass

RANK = 12
CAUSE = "gradients-cleared"


def find(case: Case) -> Iterable[Finding]:
    for held in case.optimizers:
        yield from _before_step(held, case)
    yield from _within(case)


def _before_step(held: Held, case: Case) -> Iterator[Finding]:
    """Steps on nothing, although a pass had filled the gradients."""
    steps = [s for s in case.ledger.steps if s.optimizer == held.number]
    empty = [s for s in steps if s.fed == 0]
    if len(empty) < 2 or len(empty) < len(steps) - 1:
        return
    last = empty[-1]
    passes = [p for p in case.ledger.passes if p.order < last.order and p.dropped and any(map(p.fills, held.ids))]
    if not passes or not last.chain:
        return
    went = passes[-1]
    clear = next(
        (e for e in case.ledger.events if e.kind == "clear" and e.order > went.order and e.ids & held.ids), None
    )
    if clear is None or not clear.chain or clear.order > last.order:
        return
    following = next((p for p in case.ledger.passes if p.order > clear.order and any(map(p.fills, held.ids))), None)
    # Where a loss was computed between the two, or stood ready, clearing is right and the step comes too early.
    early = (following is not None and following.begun == clear.number) or last.number > clear.number
    place = at(last.chain[0]) if early else at(clear.chain[0])
    case.claimed |= held.ids
    steps_shown = [
        Step(at=went.chain[0].location(), note=Message(f"{CAUSE}.filled")),
        Step(at=clear.chain[0].location(), note=Message(f"{CAUSE}.cleared")),
        Step(at=last.chain[0].location(), note=Message(f"{CAUSE}.stepped")),
    ]
    facts: dict[str, Argument] = {"count": len(empty)}
    yield case.finding(
        CAUSE,
        "silent-none-grad",
        place,
        facts=facts,
        key="step-early" if early else "audit",
        steps=steps_shown,
        surfaces=last.chain[0],
    )


def _within(case: Case) -> Iterator[Finding]:
    """Several passes of one line for each step, of which only the last is used."""
    lines: dict[Chain, list[Pass]] = {}
    for each in case.ledger.passes:
        if each.accumulates and each.chain and not each.inside_step:
            lines.setdefault(each.chain, []).append(each)
    for chain, passes in lines.items():
        dropped = [p for p in passes if p.dropped and not p.used]
        used = [p for p in passes if p.used]
        if len(dropped) < 2 or len(used) < 2 or dropped[-1].leaves != used[-1].leaves:
            continue
        clears = [c for p in dropped[-8:] if (c := _clearing(p, passes, case)) is not None]
        if len(clears) < 2 or len({c.chain for c in clears}) != 1:
            continue
        shown = [
            Step(at=clears[-1].chain[0].location(), note=Message(f"{CAUSE}.cleared")),
            Step(at=chain[0].location(), note=Message(f"{CAUSE}.filled")),
        ]
        facts: dict[str, Argument] = {"dropped": len(dropped), "count": len(passes)}
        yield case.finding(CAUSE, "silent-accumulate", at(clears[-1].chain[0]), facts=facts, key="within", steps=shown)


def _clearing(dropped: Pass, passes: list[Pass], case: Case) -> Event | None:
    """What cleared a pass before the next pass of the same line, with no step between."""
    following = next((p for p in passes if p.order > dropped.order), None)
    if following is None or any(dropped.order < s.order < following.order for s in case.ledger.steps):
        return None
    clears = [e for e in case.ledger.events_between("clear", dropped.order, following.order) if e.ids & dropped.leaves]
    return clears[0] if clears else None
