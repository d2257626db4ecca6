"""A term of the loss that is a constant for autograd although it was computed from what is to be trained."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Evidence, Finding, Message, Step
from gradwhy.runtime import feeding
from gradwhy.runtime.account import Place
from gradwhy.runtime.audit.case import Case
from gradwhy.runtime.audit.terms import KIND

RANK = 18
_NONE = "silent-none-grad"


def find(case: Case) -> Iterable[Finding]:
    told: set[tuple[str, int]] = set()
    for term in case.terms.lines.values():
        explanation = term.explanation
        mark = case.ledger.marked.get(KIND, {}).get(term.site)
        if explanation is None or mark is None or not mark.backward:
            continue
        place = (explanation.at.file, explanation.at.line)
        if place in told:
            continue
        told.add(place)
        name: Argument = Code(term.name) if term.name else Message("words.a-term")
        facts: dict[str, Argument] = {"name": name, "loss": name}
        record = explanation.cut.record if explanation.cut is not None else None
        if record is not None:
            facts |= feeding.facts_of(record)
            case.claimed |= feeding.leaves_of(record) - set(case.ledger.reached)
        steps = [
            Step(at=explanation.at, before="tracked", after="cut", note=Message("words.term-lost", facts)),
            Step(at=term.site.location(), note=Message("words.added-here", facts)),
        ]
        yield case.finding(
            explanation.cause,
            "silent-detached-branch"
            if any(case.ledger.reached.get(key) for h in case.optimizers for key in h.ids)
            else _NONE,
            Place(explanation.at, explanation.subject),
            facts=facts,
            headline="silent-detached-branch.headline-term",
            steps=steps,
            evidence=[
                Evidence(kind="tensor", subject=term.name or term.site.expression(), facts={"requires_grad": False})
            ],
            certain=explanation.certain,
            severity="error" if explanation.certain else "warning",
            surfaces=mark.backward[0],
        )
