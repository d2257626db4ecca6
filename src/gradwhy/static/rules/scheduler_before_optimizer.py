"""A scheduler of the learning rate that steps before its optimizer has."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static.flow.frames import Event
from gradwhy.static.order import is_conditional, is_within, loop_of, same_block
from gradwhy.static.program import Place, Program

CAUSE = "scheduler-before-optimizer"
_ANY_TIME = ("ReduceLROnPlateau",)
"""Sets the rate by what it is given, not by how often it was called: torch does not warn of its order."""


def check(program: Program) -> Iterable[Finding]:
    """The first call comes before the optimizer's first step, in the turn that makes that step."""
    told: set[int] = set()
    stepped: set[int] = set()
    for index, event in enumerate(program.events):
        if event.kind == "step":
            stepped.add(id(event.optimizer))
        elif event.kind == "entry":
            # What this function is called with may have stepped before.
            return
        if event.kind != "scheduled" or id(event.optimizer) in stepped | told or event.subject.endswith(_ANY_TIME):
            continue
        told.add(id(event.optimizer))
        later = program.events[index + 1 :]
        step = next((e for e in later if e.kind == "step" and e.optimizer is event.optimizer), None)
        if step is not None and _comes_before(program, event, step):
            yield _tell(program, event, step)


def _comes_before(program: Program, event: Event, step: Event) -> bool:
    """Whether no condition can turn the two around: a loop that only moves the scheduler on, to resume, is meant."""
    loop = loop_of(program, event)
    if same_block(program, event, step):
        return True
    return loop is not None and is_within(program, step, loop) and not is_conditional(program, event)


def _tell(program: Program, event: Event, step: Event) -> Finding:
    place, here = Place(event.at, event.frame), Place(step.at, step.frame)
    facts: dict[str, Argument] = {
        "name": Code(program.text(getattr(getattr(event.at, "func", None), "value", event.at)))
    }
    message = Message(f"{CAUSE}.headline", facts)
    return program.finding(
        CAUSE,
        place,
        message,
        symptom="warned",
        severity="warning",
        path=[program.step(place, message), program.step(here, Message(f"{CAUSE}.later"))],
        fixes=[Fix(title=Message(f"{CAUSE}.advice"), applicability="display")],
    )
