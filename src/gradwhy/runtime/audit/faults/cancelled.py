"""A difference whose derivative is zero by construction, on the way from a loss to what is trained."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Finding
from gradwhy.runtime.audit.cancelling import KIND
from gradwhy.runtime.audit.case import Case, at

RANK = 32
CAUSE = "derivative-cancels"


def find(case: Case) -> Iterable[Finding]:
    for site, mark in case.ledger.marked.get(KIND, {}).items():
        if mark.backward:
            yield case.finding(CAUSE, "silent-zero-grad", at(site), severity="warning", surfaces=mark.backward[0])
