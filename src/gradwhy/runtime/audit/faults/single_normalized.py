"""A normalization over one element: whatever comes in, the same goes out, and no gradient comes back."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Evidence, Finding
from gradwhy.runtime.audit.case import Case, at

RANK = 28
CAUSE = "constant-normalized"


def find(case: Case) -> Iterable[Finding]:
    for key, (name, kind) in case.inspection.single.items():
        site = case.calls.built.get(key)
        if site is None:
            continue
        facts: dict[str, Argument] = {"name": Code(name), "op": kind, "count": 1}
        yield case.finding(
            CAUSE, "silent-zero-grad", at(site), facts=facts,
            evidence=[Evidence(kind="parameter", subject=name, facts={"elements": 1})],
        )  # fmt: skip
