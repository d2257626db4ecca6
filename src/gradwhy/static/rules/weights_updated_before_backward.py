"""An optimizer steps before a backward that needs the weights as they were."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static import again, updated
from gradwhy.static.blame import seen_from
from gradwhy.static.flow.frames import Frame
from gradwhy.static.flow.histories import Flow
from gradwhy.static.program import Place, Program
from gradwhy.static.writes import SAVED

CAUSE = "weights-updated-before-backward"


def check(program: Program) -> Iterable[Finding]:
    """A pass goes through a layer that saved its weight, and the weight was stepped after that."""
    seen: set[int] = set()
    for event in program.each("backward", "grad"):
        if event.facts["again"]:
            # It raises for another reason.
            continue
        if again.carried(program, event) is not None:
            # The state that was carried here is what to change.
            continue
        for flow, step in updated.changed(program, event):
            if id(step[1]) in seen:
                continue
            seen.add(id(step[1]))
            _, node, frame = step
            place = _place(node, frame, event.frame)
            here = Place(event.at, event.frame)
            facts: dict[str, Argument] = {"name": Code(program.text(flow.at)), "subject": Code(program.text(node))}
            used = Place(flow.at or node, flow.frame)
            yield program.finding(
                CAUSE,
                place,
                Message(f"{CAUSE}.headline", facts),
                symptom="inplace-saved",
                surfaces=here,
                path=[
                    program.step(used, Message("inplace-op.saved", {"op": flow.name.rpartition(".")[2]})),
                    program.step(Place(node, frame), Message(f"{CAUSE}.stepped")),
                    program.step(here, Message("words.surfaces", {"error": "RuntimeError", "text": SAVED})),
                ],
                fixes=[Fix(title=Message(f"{CAUSE}.advice"), applicability="display")],
            )
            break


def _place(node: ast.AST, frame: Frame, surfacing: Frame) -> Place:
    """The step, as the nearest function sees it that also calls the failing pass."""
    outer: Frame | None = surfacing
    while outer is not None:
        found = seen_from(Flow("plain", 0, node, frame), outer)
        if found is not None:
            return found
        outer = outer.parent
    return Place(node, frame)
