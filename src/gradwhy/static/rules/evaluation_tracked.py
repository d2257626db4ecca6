"""An evaluation that records a graph which nothing ever uses: told only where it is asked for what is likely."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static import lost
from gradwhy.static.flow.frames import Event
from gradwhy.static.flow.gradients import Reach
from gradwhy.static.flow.histories import NO, YES, Flow
from gradwhy.static.flow.layers import named_parameters
from gradwhy.static.order import loop_of
from gradwhy.static.program import Place, Program

CAUSE = "evaluation-tracked"


def check(program: Program) -> Iterable[Finding]:
    """In a loop, a model in evaluation mode is called with recording on; it is trained elsewhere, and no pass goes through
    what came of these calls."""
    if not program.strict or not program.whole or lost.explained(program):
        return
    passes = program.each("backward", "grad")
    used = _behind([flow for event in passes for flow in event.facts["flows"]])
    trained = {key for event in passes if event.kind == "backward" for key in _leaves(event)}
    calls: dict[int, list[Event]] = {}
    for event in program.each("evaluated"):
        calls.setdefault(id(event.at), []).append(event)
    for events in calls.values():
        first = events[0]
        if loop_of(program, first) is not None and all(_is_wasted(event, used, trained) for event in events):
            yield _tell(program, first)


def _is_wasted(event: Event, used: set[int], trained: set[int]) -> bool:
    flows: tuple[Flow, ...] = event.facts["flows"]
    given: tuple[Flow, ...] = event.facts["given"]
    if event.facts["on"] is not True or not flows or any(flow.grad != YES for flow in flows):
        return False
    if any(flow.grad != NO for flow in given) or any(id(flow) in used for flow in flows) or event.value is None:
        return False
    return any(tensor is not None and id(tensor) in trained for _, tensor in named_parameters(event.value))


def _leaves(event: Event) -> set[int]:
    reach: Reach = event.facts["reach"]
    return set(reach.leaves)


def _behind(todo: list[Flow]) -> set[int]:
    """All histories that something which goes backward may have been computed from."""
    seen: set[int] = set()
    while todo:
        flow = todo.pop()
        if id(flow) not in seen:
            seen.add(id(flow))
            todo += [*flow.inputs, *flow.side]
    return seen


def _tell(program: Program, event: Event) -> Finding:
    place = Place(event.at, event.frame)
    facts: dict[str, Argument] = {"subject": Code(program.text(event.at))}
    message = Message(f"{CAUSE}.headline", facts)
    return program.finding(
        CAUSE,
        place,
        message,
        symptom="memory-graph-kept",
        severity="note",
        path=[program.step(place, message, after="tracked")],
        fixes=[Fix(title=Message(f"{CAUSE}.advice"), applicability="display")],
        likely=True,
    )
