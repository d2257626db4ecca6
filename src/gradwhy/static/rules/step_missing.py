"""Gradients that are computed and cleared in turn after turn, and an optimizer that never steps."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Finding, Fix, Message
from gradwhy.static import lost
from gradwhy.static.flow.frames import Event
from gradwhy.static.flow.gradients import Reach
from gradwhy.static.order import is_within, loop_of
from gradwhy.static.program import Place, Program

CAUSE = "step-missing"
_LOOKED_AT = ("grad-read", "grad-set", "written", "data-set", "step")


def check(program: Program) -> Iterable[Finding]:
    """A loop fills and clears the gradients of an optimizer, and nothing in the file uses them."""
    if not program.whole or lost.explained(program) or _steps_out_of_sight(program):
        return
    for optimizer in program.optimizers:
        held = {id(tensor) for tensor in optimizer.f["params"]}
        if not held or not optimizer.f["complete"] or "#escaped" in optimizer.f:
            continue
        if any(event.kind in _LOOKED_AT and _touches(event, held) for event in program.events):
            continue
        passes = [e for e in program.each("backward") if _reaches(e.facts["reach"], held)]
        cleared = [e for e in program.each("zero_grad") if _touches(e, held)]
        repeated = [e for n, e in enumerate(passes) if any(one.at is e.at for one in passes[:n])]
        # A pass for another optimizer may go through these parameters too: their own comes first.
        again = next((e for e in repeated if e.facts["reach"].leaves.keys() <= held), next(iter(repeated), None))
        loop = loop_of(program, again) if again is not None else None
        if again is not None and loop is not None and any(is_within(program, clear, loop) for clear in cleared):
            place = Place(again.at, again.frame)
            message = Message(f"{CAUSE}.headline-source", {"optimizer": program.code(_name(optimizer.made, program))})
            yield program.finding(
                CAUSE,
                place,
                message,
                symptom="silent-not-in-optimizer",
                path=[program.step(place, message)],
                fixes=[Fix(title=Message(f"{CAUSE}.advice"), applicability="display")],
            )
            return


def _steps_out_of_sight(program: Program) -> bool:
    """Whether the file calls ``step()`` on anything but a scheduler or one optimizer that is known: it may be another's."""
    known = {id(event.at) for event in program.each("scheduled")}
    owners: dict[int, set[int]] = {}
    for event in program.each("step"):
        owners.setdefault(id(event.at), set()).add(id(event.optimizer))
    known |= {node for node, stepped in owners.items() if len(stepped) == 1}
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in ("step", "optimizer_step")
        and id(program.source_of(node).parents.get(node)) not in known
        for node in program.all_nodes()
    )


def _touches(event: Event, held: set[int]) -> bool:
    return any(id(tensor) in held for tensor in event.tensors)


def _reaches(reach: Reach, held: set[int]) -> bool:
    return bool(reach.leaves.keys() & held)


def _name(made: ast.AST, program: Program) -> ast.AST:
    statement = program.source_of(made).statement(made)
    return statement.targets[0] if isinstance(statement, ast.Assign) else made
