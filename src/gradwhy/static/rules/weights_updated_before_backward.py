"""An optimizer steps before a backward that needs the weights as they were."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static.blame import seen_from
from gradwhy.static.flow.frames import Frame
from gradwhy.static.flow.gradients import Reach
from gradwhy.static.flow.histories import YES, Flow
from gradwhy.static.flow.values import Tensor
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
        reach: Reach = event.facts["reach"]
        stepped: list[tuple[Tensor, tuple[int, ast.AST, Frame]]] = event.facts["stepped"]
        steps = {id(tensor): step for tensor, step in stepped}
        for flow in reach.stations.values():
            step = _later_step(program, flow, steps)
            if step is None or id(step[1]) in seen:
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


def _later_step(
    program: Program, flow: Flow, steps: dict[int, tuple[int, ast.AST, Frame]]
) -> tuple[int, ast.AST, Frame] | None:
    """The step that changed a weight which this layer saved: it does where its input has a path, and multiplies."""
    row = program.run.table.module(flow.name)
    if (
        flow.kind != "op"
        or row is None
        or not any(name.startswith("weight") for name in row.parameters)
        or flow.name.endswith(("Embedding", "EmbeddingBag"))
    ):
        return None
    given = [part for part in flow.inputs if part.owner is None or not part.owner.parameter]
    if not any(part.grad == YES for part in given):
        return None
    for part in flow.inputs:
        step = steps.get(id(part.owner)) if part.owner is not None and part.owner.name.startswith("weight") else None
        if step is not None and step[0] > flow.serial:
            return step
    return None


def _place(node: ast.AST, frame: Frame, surfacing: Frame) -> Place:
    """The step, as the nearest function sees it that also calls the failing pass."""
    outer: Frame | None = surfacing
    while outer is not None:
        found = seen_from(Flow("plain", 0, node, frame), outer)
        if found is not None:
            return found
        outer = outer.parent
    return Place(node, frame)
