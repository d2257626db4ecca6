"""A loss in which each prediction of the batch met each target: shapes that were spread over each other."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Argument, Evidence, Finding, Message, Step
from gradwhy.runtime.audit.broadcasting import KIND
from gradwhy.runtime.audit.case import Case, at

RANK = 16
CAUSE = "shape-broadcast"


def find(case: Case) -> Iterable[Finding]:
    for site, mark in case.ledger.marked.get(KIND, {}).items():
        if not mark.backward:
            continue
        facts: dict[str, Argument] = {name: str(shape) for name, shape in mark.facts.items()}
        yield case.finding(
            CAUSE, "silent-broadcast", at(site), facts=facts, key="spread",
            steps=[Step(at=site.location(), note=Message(f"{CAUSE}.spread", facts))],
            evidence=[Evidence(kind="tensor", subject=site.expression() or "difference", facts={"shape": mark.facts["result"]})],
            surfaces=mark.backward[0],
        )  # fmt: skip
