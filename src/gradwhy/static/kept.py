"""Sums of losses that keep every graph alive."""

from __future__ import annotations

from collections.abc import Iterator

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static import lost
from gradwhy.static.flow.gradients import Reach
from gradwhy.static.flow.histories import YES, Flow
from gradwhy.static.program import Place, Program

CAUSE = "loss-accumulated"


def findings(program: Program) -> Iterator[Finding]:
    """``total += loss`` for the log, with the loss's history: the sum never goes backward itself."""
    if lost.explained(program) or not program.whole:
        return
    used: set[int] = set()
    finished: dict[int, object] = {}
    for event in program.each("backward", "grad"):
        reach: Reach = event.facts["reach"]
        used |= reach.stations.keys()
        starts: tuple[Flow, ...] = event.facts["flows"]
        finished.update({id(flow): event for flow in starts if flow.grad == YES})
    seen: set[int] = set()
    for total in program.run.sums:
        at = total.at
        if at is None or id(at) in seen or id(total) in used:
            continue
        # The sum of the pass before, and a loss that has gone backward.
        before = [part for part in total.inputs if part.at is at and part.name == "add"]
        losses = [part for part in total.inputs if id(part) in finished]
        if not before or not losses:
            continue
        seen.add(id(at))
        place = Place(at, total.frame)
        facts: dict[str, Argument] = {"name": Code(program.text(getattr(at, "target", at)))}
        yield program.finding(
            CAUSE,
            place,
            Message(f"{CAUSE}.headline-source", facts),
            symptom="memory-graph-kept",
            severity="warning",
            path=[program.step(place, Message(f"{CAUSE}.added"))],
            fixes=[Fix(title=Message(f"{CAUSE}.advice"), applicability="display")],
        )
