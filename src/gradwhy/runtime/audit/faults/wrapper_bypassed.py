"""A model that is wrapped for data parallel training and run past its wrapper: gradients are not averaged over the processes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradwhy.findings import Argument, Evidence, Finding, Message, Step
from gradwhy.runtime.account import Place
from gradwhy.runtime.audit.case import Case, at, place_of

RANK = 36
CAUSE = "wrapper-bypassed"


def find(case: Case) -> Iterable[Finding]:
    wrapping = case.wrapping
    if wrapping.forwards or len(wrapping.passes) < 2:
        return
    wrapped = next(iter(wrapping.wrapped.values()))
    calls = list(_past(case))
    place = calls[0] if calls else at(wrapping.passes[-1][0])
    facts: dict[str, Argument] = {"count": len(wrapping.passes)}
    steps = [
        Step(at=wrapped.location(), note=Message(f"{CAUSE}.wrapped")),
        Step(at=place.at, note=Message(f"{CAUSE}.past")),
    ]
    yield case.finding(
        CAUSE, "silent-wrong-grad", place, facts=facts, steps=steps, certain=len(calls) < 2, surfaces=wrapping.passes[-1][0],
        evidence=[Evidence(kind="graph", subject="DistributedDataParallel", facts={"forward_calls": 0})],
    )  # fmt: skip


def _past(case: Case) -> Iterator[Place]:
    """``model.module(x)`` or ``model.module.forward(x)``, in the source."""
    for source, call in case.nodes(ast.Call):
        function = call.func
        if isinstance(function, ast.Attribute) and function.attr == "forward":
            function = function.value
        if isinstance(function, ast.Attribute) and function.attr == "module":
            yield place_of(source, call)
