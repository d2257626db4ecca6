"""Gradients that are cleared before a step has used them."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static import lost
from gradwhy.static.flow.frames import Event
from gradwhy.static.flow.gradients import Reach
from gradwhy.static.flow.values import Optimizer
from gradwhy.static.program import Place, Program

CAUSE = "gradients-cleared"


def check(program: Program) -> Iterable[Finding]:
    """One line goes backward several times for each step, and what its earlier passes left is cleared before the last."""
    if not program.whole or lost.explained(program):
        return
    for optimizer in program.optimizers:
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
            if clear is not None and clear.frame is event.frame and _same_block(program, clear.at, event.at):
                return clear, event
            filled = False
    return None


def _same_block(program: Program, one: ast.AST, other: ast.AST) -> bool:
    source = program.source_of(one)
    first, second = source.statement(one), source.statement(other)
    parents = source.parents
    if first is None or second is None or parents.get(first) is not parents.get(second):
        return False
    blocks = (getattr(parents.get(first), name, None) for name in ("body", "orelse", "finalbody"))
    return any(isinstance(block, list) and first in block and second in block for block in blocks)


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
