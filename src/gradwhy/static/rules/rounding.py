"""Parameters that a loss reaches through step functions only: their gradients are zero."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static import vanishing
from gradwhy.static.flow.frames import Event
from gradwhy.static.flow.gradients import Reach
from gradwhy.static.flow.histories import Flow
from gradwhy.static.flow.values import Tensor
from gradwhy.static.program import Place, Program
from gradwhy.torchapi import table

CAUSE = "rounding"


def check(program: Program) -> Iterable[Finding]:
    """What an optimizer steps gets a gradient of zero in every pass, by ``round``, ``sign`` and their kin."""
    passes = vanishing.passes_of(program)
    lost = vanishing.dead(passes, vanishing.stepped(program), _lets)
    told: set[int] = set()
    for event in passes if lost else ():
        for flow in vanishing.walk(event.facts["flows"], _lets):
            if _lets(flow, flow) or flow.at is None:
                continue
            behind = Reach(list(flow.inputs)).leaves
            first = next((behind[key] for key in lost if key in behind), None)
            if first is None:
                continue
            straight = _straight_through(event, flow)
            place = (
                Place(straight.at or flow.at, straight.frame) if straight is not None else Place(flow.at, flow.frame)
            )
            if id(place.node) not in told:
                told.add(id(place.node))
                yield _tell(program, event, place, first)


def _lets(flow: Flow, part: Flow) -> bool:
    """Some of torch's step functions raise in their backward instead: that is another fault."""
    row = table.load().op(flow.name) if flow.cause == CAUSE and flow.name else None
    return row is None or row.effect != "zero"


def _straight_through(event: Event, rounded: Flow) -> Flow | None:
    """The sum that passes the rounded value on beside a detached one: straight-through, the wrong way round."""
    for flow in vanishing.walk(event.facts["flows"], _lets):
        if flow.name in ("add", "sub", "torch.add", "torch.sub") and rounded in flow.inputs and flow.at is not None:
            if any(part.kind == "cut" and part.cause in ("detach", "data-attribute") for part in flow.inputs):
                return flow
    return None


def _tell(program: Program, event: Event, place: Place, first: Tensor) -> Finding:
    facts: dict[str, Argument] = {
        "name": Code(program.text(first.flow.at)) if first.flow.at is not None else Message("words.its-parameters"),
        "subject": Code(program.text(place.node)),
        "op": program.text(place.node),
    }
    return program.finding(
        CAUSE,
        place,
        Message(f"{CAUSE}.headline-zero", facts),
        symptom="silent-zero-grad",
        surfaces=Place(event.at, event.frame),
        path=[program.step(place, Message("words.zero-from-here", facts), before="tracked", after="tracked")],
        fixes=[Fix(title=Message(f"{CAUSE}.advice"), applicability="display")],
    )
