"""A custom function whose backward is not the derivative of its forward, by what the program itself gave it."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Evidence, Finding, Message, Step
from gradwhy.runtime.audit.case import Case, at
from gradwhy.runtime.audit.faults.zero_grad import returned

RANK = 38
CAUSE = "custom-backward-wrong"


def find(case: Case) -> Iterable[Finding]:
    for wrong in case.functions.wrong():
        place = returned(wrong.function, case, wrong.index) or at(wrong.site)
        name = getattr(wrong.function, "__name__", "the function")
        facts: dict[str, Argument] = {
            "name": Code(name), "index": wrong.index + 1, "analytic": wrong.analytic, "numeric": wrong.numeric
        }  # fmt: skip
        seen = {"backward_gives": wrong.analytic, "differences_give": wrong.numeric}
        yield case.finding(
            CAUSE, "silent-wrong-grad", place, facts=facts, key="audit",
            steps=[Step(at=place.at, note=Message(f"{CAUSE}.at-audit", facts)), Step(at=wrong.site.location())],
            evidence=[Evidence(kind="value", subject=name, facts=seen)],
        )  # fmt: skip
