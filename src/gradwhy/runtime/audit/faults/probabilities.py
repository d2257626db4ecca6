"""A loss that takes the softmax or the sigmoid itself, of what has been through one already."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Finding, Message, Step
from gradwhy.runtime.audit.case import Case, at
from gradwhy.runtime.audit.probabilities import KIND

RANK = 33
CAUSE = "probabilities-as-logits"


def find(case: Case) -> Iterable[Finding]:
    for site, mark in case.ledger.marked.get(KIND, {}).items():
        if not mark.backward:
            continue
        loss = mark.facts["loss"]
        facts: dict[str, Argument] = {"applied": mark.facts["applied"], "loss": Code(at(loss).text)}
        yield case.finding(
            CAUSE, "silent-zero-grad", at(site), facts=facts, key="applied", severity="warning", surfaces=mark.backward[0],
            steps=[
                Step(at=site.location(), before="tracked", after="tracked", note=Message(f"{CAUSE}.made")),
                Step(at=loss.location(), before="tracked", after="tracked", note=Message(f"{CAUSE}.taken", facts)),
            ],
        )  # fmt: skip
