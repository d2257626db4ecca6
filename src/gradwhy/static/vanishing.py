"""Leaves that a loss reaches and whose gradient is zero whatever the numbers are: every way to them is blocked."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gradwhy.static import lost
from gradwhy.static.flow.frames import Event
from gradwhy.static.flow.gradients import Reach
from gradwhy.static.flow.histories import NO, Flow
from gradwhy.static.flow.values import Tensor
from gradwhy.static.program import Program

Passes = Callable[[Flow, Flow], bool]
"""Whether a gradient can pass from a history to one of its inputs."""


def passes_of(program: Program) -> list[Event]:
    """The backward passes, where all that goes backward in a file is known; none where it isn't."""
    if not program.whole or lost.explained(program):
        return []
    found = program.each("backward")
    known = all(isinstance(e.facts["reach"], Reach) and e.facts["reach"].certain for e in found)
    return found if known else []


def stepped(program: Program) -> dict[int, Tensor]:
    """What an optimizer steps and nobody changes by hand."""
    by_hand = {id(t) for event in program.each("grad-set", "data-set") for t in event.tensors}
    held = {id(t): t for event in program.each("step") for t in event.tensors}
    return {key: tensor for key, tensor in held.items() if key not in by_hand and tensor.flow.kind == "leaf"}


def dead(passes: list[Event], wanted: dict[int, Tensor], lets: Passes) -> dict[int, Tensor]:
    """The leaves among ``wanted`` that passes reach, and none by a way that lets a gradient through."""
    reached: dict[int, Tensor] = {}
    alive: set[int] = set()
    for event in passes:
        reach: Reach = event.facts["reach"]
        reached |= {key: tensor for key, tensor in reach.leaves.items() if key in wanted}
        alive |= reach.maybe.keys() | _alive(event.facts["flows"], lets)
    return {key: tensor for key, tensor in reached.items() if key not in alive}


def _alive(starts: tuple[Flow, ...], lets: Passes) -> set[int]:
    return {id(flow.owner) for flow in walk(starts, lets) if flow.owner is not None and flow.kind == "leaf"}


def walk(starts: tuple[Flow, ...], lets: Passes) -> Iterator[Flow]:
    """The histories that a gradient gets to, the nearest first."""
    todo = list(starts)
    done: set[int] = set()
    while todo:
        later: list[Flow] = []
        for flow in todo:
            if id(flow) in done or flow.grad == NO:
                continue
            done.add(id(flow))
            yield flow
            if flow.kind != "leaf":
                later += [part for part in flow.inputs if lets(flow, part)]
        todo = later
