"""An optimizer that steps past the ``GradScaler`` which scaled its gradients."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static import scaling
from gradwhy.static.order import same_block
from gradwhy.static.program import Place, Program

CAUSE = "scaler-bypassed"


def check(program: Program) -> Iterable[Finding]:
    """``optimizer.step()`` right after a pass of a scaled loss, with no ``unscale_`` between."""
    told: set[int] = set()
    through = {id(event.at) for event in program.each("scaler")}
    for index, event in enumerate(program.events):
        if event.kind != "step" or id(event.at) in through | told or event.optimizer is None:
            continue
        before = program.events[:index]
        passed = next((e for e in reversed(before) if e.kind in scaling.BACKWARD), None)
        call = next((e for e in reversed(before) if e.kind == "scaler"), None)
        if passed is None or call is None or not scaling.is_scaled(passed) or not scaling.is_on(call):
            continue
        if call.subject == "scale" and same_block(program, passed, event) and scaling.reaches(passed, event):
            told.add(id(event.at))
            place, scaled = Place(event.at, event.frame), Place(call.at, call.frame)
            facts: dict[str, Argument] = {"subject": Code(program.text(event.at))}
            yield program.finding(
                CAUSE,
                place,
                Message(f"{CAUSE}.headline-audit", facts),
                symptom="amp",
                path=[
                    program.step(scaled, Message(f"{CAUSE}.scaled")),
                    program.step(place, Message(f"{CAUSE}.stepped")),
                ],
                fixes=[Fix(title=Message(f"{CAUSE}.advice-audit"), applicability="display")],
            )
