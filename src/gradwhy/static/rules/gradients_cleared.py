"""Gradients that are cleared before a step has used them."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static import lost
from gradwhy.static.flow.frames import Event
from gradwhy.static.flow.gradients import Reach
from gradwhy.static.flow.values import Optimizer
from gradwhy.static.order import same_block
from gradwhy.static.program import Place, Program

CAUSE = "gradients-cleared"


def check(program: Program) -> Iterable[Finding]:
    """One line goes backward several times for each step, and what its earlier passes left is cleared before the last."""
    if not program.whole or lost.explained(program):
        return
    stepped = {id(event.optimizer) for event in program.each("step")}
    for optimizer in program.optimizers:
        if id(optimizer) not in stepped:
            # Nothing uses its gradients anyway.
            continue
        found = _within(program, optimizer) or _before_step(program, optimizer)
        if found is None or not optimizer.f["complete"]:
            continue
        clear, again = found
        place, here = Place(clear.at, clear.frame), Place(again.at, again.frame)
        name = program.text(getattr(getattr(clear.at, "func", None), "value", clear.at))
        facts: dict[str, Argument] = {"subject": Code(program.text(clear.at)), "optimizer": Code(name)}
        yield program.finding(
            CAUSE,
            place,
            Message(f"{CAUSE}.headline", facts),
            symptom="silent-accumulate",
            surfaces=here,
            path=[program.step(place, Message(f"{CAUSE}.headline", facts))],
            fixes=[Fix(title=Message(f"{CAUSE}.advice"), applicability="display")],
        )


def _before_step(program: Program, optimizer: Optimizer) -> tuple[Event, Event] | None:
    """(the clearing, the step) where both follow a pass in one block, one after the other."""
    held = {id(tensor) for tensor in optimizer.f["params"]}
    clear: Event | None = None
    filled = False
    for event in program.events:
        if event.kind == "backward":
            filled, clear = any(key in held for key in event.facts["reach"].leaves), None
        elif event.kind == "zero_grad" and filled and any(id(tensor) in held for tensor in event.tensors):
            clear = event
        elif event.kind == "step" and event.optimizer is optimizer:
            if clear is not None and same_block(program, clear, event):
                return clear, event
            filled = False
    return None


def _within(program: Program, optimizer: Optimizer) -> tuple[Event, Event] | None:
    """(the clearing, the pass after it) between a pass and the next one of the same line, with no step and no look at the
    gradients in between."""
    held = {id(tensor) for tensor in optimizer.f["params"]}
    earlier: Event | None = None
    clear: Event | None = None
    for event in program.events:
        touches = any(id(tensor) in held for tensor in event.tensors)
        if event.kind in ("step", "grad-read", "clip", "grad-set"):
            earlier = clear = None
        elif event.kind == "zero_grad" and touches and earlier is not None:
            clear = clear or event
        elif event.kind == "backward" and isinstance(event.facts["reach"], Reach):
            same = earlier is not None and earlier.at is event.at and earlier.frame is event.frame
            if same and clear is not None and any(key in held for key in event.facts["reach"].leaves):
                return clear, event
            earlier, clear = (event, None) if any(key in held for key in event.facts["reach"].leaves) else (None, None)
    return None
