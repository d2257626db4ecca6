"""Gradients that nothing clears from one step to the next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.source.slicing import called
from gradwhy.static import lost
from gradwhy.static.flow.frames import Event
from gradwhy.static.flow.gradients import Reach
from gradwhy.static.program import Place, Program

CAUSE = "missing-zero_grad"
_SCALES = ("mul_", "div_", "multiply_", "divide_", "lerp_", "copy_")


def check(program: Program) -> Iterable[Finding]:
    """An optimizer steps a second time for gradients that have been added to those of its first step."""
    if not program.whole or lost.explained(program):
        return
    told: set[int] = set()
    for optimizer in program.optimizers:
        held = {id(tensor) for tensor in optimizer.f["params"]}
        if not optimizer.f["complete"] or not held:
            continue
        steps = [i for i, e in enumerate(program.events) if e.kind == "step" and e.optimizer is optimizer]
        if len(steps) < 2:
            continue
        first, second = steps[0], steps[1]
        # What is cleared once before the first step holds for that one only.
        if any(_clears(event, held) for event in program.events[first:]) or _scales(program.events[first:], held):
            continue
        passes = [e for e in program.events[first:second] if e.kind == "backward"]
        again = next((e for e in passes if _reaches(e.facts["reach"], held)), None)
        if again is None or id(again.at) in told:
            continue
        told.add(id(again.at))
        place, step = Place(again.at, again.frame), Place(program.events[second].at, program.events[second].frame)
        facts: dict[str, Argument] = {
            "optimizer": Code(program.text(getattr(getattr(step.node, "func", None), "value", step.node)))
        }
        yield program.finding(
            CAUSE,
            place,
            Message(f"{CAUSE}.headline-source", facts),
            symptom="silent-accumulate",
            severity="warning",
            surfaces=step,
            path=[
                program.step(place, Message(f"{CAUSE}.added-source")),
                program.step(step, Message(f"{CAUSE}.stepped")),
            ],
            fixes=[Fix(title=Message(f"{CAUSE}.advice-source", facts), applicability="display")],
        )


def _clears(event: Event, held: set[int]) -> bool:
    return event.kind in ("zero_grad", "grad-set") and any(id(tensor) in held for tensor in event.tensors)


def _scales(events: Sequence[Event], held: set[int]) -> bool:
    """Whether gradients are made smaller in place, as in ``p.grad.mul_(0.9)``: what is left of them is meant to be."""
    return any(
        event.kind == "written" and called(event.at) in _SCALES and id(tensor.f.get("#grad of")) in held
        for event in events
        for tensor in event.tensors
    )


def _reaches(reach: object, held: set[int]) -> bool:
    return isinstance(reach, Reach) and any(key in held for key in reach.leaves)
