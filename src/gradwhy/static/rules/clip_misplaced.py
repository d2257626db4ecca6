"""Gradients that are clipped before there are any, after the step that used them, or while they are scaled."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.source.slicing import bound_names, names_read, targets
from gradwhy.static import lost, scaling
from gradwhy.static.flow.frames import Event
from gradwhy.static.flow.gradients import Reach
from gradwhy.static.order import is_conditional, is_within, loop_of, same_block
from gradwhy.static.program import Place, Program

CAUSE = "clip-misplaced"


def check(program: Program) -> Iterable[Finding]:
    """Each time that the line clips, it is at the wrong time."""
    if lost.explained(program) or program.run.spent_all:
        return
    lines: dict[int, list[int]] = {}
    for index, event in enumerate(program.events):
        if event.kind == "clip" and event.tensors and not _measures(program, event):
            lines.setdefault(id(event.at), []).append(index)
    for found in lines.values():
        verdicts = {_verdict(program, index) for index in found}
        if len(verdicts) == 1 and (key := verdicts.pop()) is not None:
            yield _tell(program, program.events[found[0]], key)


def _measures(program: Program, event: Event) -> bool:
    """``clip_grad_norm_(..., inf)`` measures the norm, wherever it stands."""
    return "inf" in program.text(event.at)


def _verdict(program: Program, index: int) -> str | None:
    events, clip = program.events, program.events[index]
    before, after = events[:index], events[index + 1 :]
    held = {id(tensor) for tensor in clip.tensors}
    last = next((e for e in reversed(before) if _matters(e, held)), None)
    later = next((e for e in after if e.kind in scaling.BACKWARD or (e.kind == "step" and _touches(e, held))), None)
    if last is None or last.kind == "zero_grad":
        # Before a function that is looked at by itself there may have been gradients.
        known = _always(program, last, clip) if last is not None else not program.each("entry")
        return "early" if known and later is not None and _follows(program, clip, later) else None
    if last.kind == "step" and same_block(program, last, clip):
        return "late" if _goes_unused(program, clip, after, held) else None
    if last.kind in scaling.BACKWARD and scaling.is_scaled(last) and same_block(program, last, clip):
        call = next((e for e in reversed(before) if e.kind == "scaler"), None)
        step = next((e for e in after if e.kind == "scaler"), None)
        scaled = call is not None and call.subject == "scale" and scaling.is_on(call)
        if scaled and step is not None and step.subject == "step" and same_block(program, clip, step):
            return "scaled"
    return None


def _always(program: Program, clear: Event, clip: Event) -> bool:
    return same_block(program, clear, clip) or not is_conditional(program, clear)


def _follows(program: Program, clip: Event, later: Event) -> bool:
    """Whether the gradients come in the same turn."""
    if later.kind not in scaling.BACKWARD:
        return False
    loop = loop_of(program, clip)
    return same_block(program, clip, later) or (
        loop is not None and not is_conditional(program, clip) and is_within(program, later, loop)
    )


def _matters(event: Event, held: set[int]) -> bool:
    """Whether an event may change whether these tensors have a gradient, or use it."""
    if event.kind == "backward":
        reach: Reach = event.facts["reach"]
        return not reach.certain or bool((reach.leaves.keys() | reach.maybe.keys()) & held)
    return event.kind in ("backward-unknown", "entry") or (
        event.kind in ("zero_grad", "grad-set", "step") and _touches(event, held)
    )


def _touches(event: Event, held: set[int]) -> bool:
    return any(id(tensor) in held for tensor in event.tensors)


def _goes_unused(program: Program, clip: Event, after: list[Event], held: set[int]) -> bool:
    """Whether the gradients are cleared before the next pass: in the next turn of the loop, or in this one."""
    following = next((e for e in after if _matters(e, held)), None)
    if following is None:
        # The last turn that was run of a loop which clears first.
        loop = loop_of(program, clip)
        clears = [e for e in program.each("zero_grad") if _touches(e, held)]
        return loop is not None and any(is_within(program, e, loop) for e in clears)
    return following.kind == "zero_grad" and _always(program, following, clip)


def _tell(program: Program, event: Event, key: str) -> Finding:
    place = _about_it(program, event)
    facts: dict[str, Argument] = {"subject": Code(program.text(_called(place.node)))}
    return program.finding(
        CAUSE,
        place,
        Message(f"{CAUSE}.headline-{key}", facts),
        symptom="silent-none-grad",
        path=[program.step(place, Message(f"{CAUSE}.{key}"))],
        fixes=[Fix(title=Message(f"{CAUSE}.advice-{key}"), applicability="display")],
    )


def _about_it(program: Program, event: Event) -> Place:
    """The call to move: that of the innermost function which does something else besides."""
    node, frame = event.at, event.frame
    while isinstance(frame.call, ast.Call) and frame.parent is not None and _only_clips(program, node, frame.node):
        node, frame = frame.call, frame.parent
    return Place(node, frame)


def _only_clips(program: Program, node: ast.AST, function: ast.AST | None) -> bool:
    """Whether a function clips, and works with the norm that came of it."""
    own = program.source_of(node).statement(node)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or own is None:
        return False
    names = {name for target in targets(own) for name in bound_names(target)}
    return all(
        any(inner is own for inner in ast.walk(statement))
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        or bool(names & names_read(statement))
        for statement in function.body
    )


def _called(node: ast.AST) -> ast.AST:
    return node.func if isinstance(node, ast.Call) else node
