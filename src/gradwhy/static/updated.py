"""Weights that an optimizer changed after a layer had saved them for a backward pass."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradwhy.static.flow.frames import Event, Frame
from gradwhy.static.flow.gradients import Reach
from gradwhy.static.flow.histories import YES, Flow
from gradwhy.static.flow.values import Tensor
from gradwhy.static.program import Program


def changed(program: Program, event: Event) -> Iterator[tuple[Flow, tuple[int, ast.AST, Frame]]]:
    """The layers that a pass goes through and whose saved weight was stepped since, each with that step."""
    reach: Reach = event.facts["reach"]
    stepped: list[tuple[Tensor, tuple[int, ast.AST, Frame]]] = event.facts["stepped"]
    steps = {id(tensor): step for tensor, step in stepped}
    for flow in reach.stations.values():
        step = _later_step(program, flow, steps)
        if step is not None:
            yield flow, step


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
