"""Graphs that a second backward pass goes through: which tensor ties the old graph to the new one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.source.slicing import targets
from gradwhy.static import lost, updated
from gradwhy.static.blame import seen_from
from gradwhy.static.flow.frames import Event, Frame, Stepped
from gradwhy.static.flow.gradients import Freed, Reach
from gradwhy.static.flow.histories import YES, Flow
from gradwhy.static.flow.values import Tensor
from gradwhy.static.order import loop_of
from gradwhy.static.program import Place, Program
from gradwhy.static.writes import SAVED

SYMPTOM = "second-backward"
ERROR = "Trying to backward through the graph a second time"


@dataclass(frozen=True, slots=True)
class Tie:
    """``new`` was computed after the earlier pass, ``old`` before it; None where the whole graph is the old one."""

    cause: str
    place: Place
    earlier: Freed
    new: Flow | None
    old: Flow | None


def findings(program: Program, cause: str) -> Iterator[Finding]:
    """The findings of one cause among the passes that meet a graph that is used up."""
    places: set[int] = set()
    for event in program.each("backward", "grad"):
        again: list[Freed] = event.facts["again"]
        tie = explain(program, event, again[0]) if again else carried(program, event)
        if tie is None or tie.cause != cause or id(tie.place.node) in places:
            continue
        places.add(id(tie.place.node))
        yield _tell(program, event, tie)


def carried(program: Program, event: Event) -> Tie | None:
    """Where ``retain_graph=True`` hides that a state carries its history on: each pass of this line goes through the graphs
    of all earlier ones, and the weights were stepped in between."""
    kept: list[Freed] = event.facts["kept"]
    if event.kind != "backward" or event.facts["again"] or event.facts.get("inputs"):
        return None
    earlier = max((freed for freed in kept if freed.node is event.at), key=lambda freed: freed.serial, default=None)
    if earlier is None:
        return None
    reach: Reach = event.facts["reach"]
    stepped: list[tuple[Tensor, Stepped]] = event.facts["stepped"]
    if not any(step.serial > earlier.serial for _, step in stepped):
        # Gradients of several times are added up for one step.
        return None
    anew = {id(flow.at): flow for flow in reach.stations.values() if flow.serial > earlier.serial}
    for new, old in _edges(reach, earlier):
        # What the same line made in this turn goes on to the next.
        next_one = anew.get(id(old.at)) if old.at is not None else None
        if next_one is not None and next_one.at is not None:
            return Tie("hidden-state-carried", _bound(program, next_one.at, next_one, event), earlier, new, old)
    return None


def _bound(program: Program, node: ast.AST, flow: Flow, event: Event) -> Place:
    """Where a state is bound for the next turn: to an attribute, or in the function that goes backward."""
    frame = flow.frame
    while frame is not None and frame is not event.frame and frame.call is not None:
        if any(isinstance(part, ast.Attribute) for part in _targets(program, node)):
            break
        node, frame = frame.call, frame.parent
    return Place(node, frame)


def _targets(program: Program, node: ast.AST) -> list[ast.expr]:
    statement = program.source_of(node).statement(node)
    found = targets(statement) if statement is not None else []
    return [part for each in found for part in (each.elts if isinstance(each, (ast.Tuple, ast.List)) else [each])]


def _edges(reach: Reach, earlier: Freed) -> list[tuple[Flow, Flow]]:
    """Where a history that was made after a pass was computed from one that was made before it."""
    return [
        (flow, part)
        for flow in reach.stations.values()
        for part in flow.inputs
        if flow.serial > earlier.serial >= part.serial and part.grad == YES and part.kind != "leaf"
    ]


def explain(program: Program, event: Event, earlier: Freed) -> Tie | None:
    reach = event.facts["reach"]
    assert isinstance(reach, Reach)
    edges = _edges(reach, earlier)
    if earlier.node is not event.at:
        return Tie(
            "freed-graph-reused", Place(earlier.node, earlier.frame), earlier, *(edges[0] if edges else (None, None))
        )
    if not edges:
        return None
    new, old = edges[0]
    if new.name == "add" and (old in earlier.starts or old.at is new.at) and new.at is not None:
        return Tie("loss-accumulated", Place(new.at, new.frame), earlier, new, old)
    if new.at is old.at and (seen := _seen(old, event.frame)) is not None:
        return Tie("hidden-state-carried", seen, earlier, new, old)
    if isinstance(new.at, ast.Call) and isinstance(new.at.func, ast.Attribute) and new.at.func.attr.endswith("_"):
        # Zeroed in place: the values are gone, the history is not.
        return Tie("hidden-state-carried", Place(new.at, new.frame), earlier, new, old)
    if new.at is not None and not _in_forward(new):
        return Tie("freed-graph-reused", Place(new.at, new.frame), earlier, new, old)
    if old.at is None:
        return None
    own, seen = Place(old.at, old.frame), _seen(old, event.frame)
    at_call = _in_forward(old) or (seen is not None and _is_before(program, seen, event))
    return Tie("freed-graph-reused", (seen or own) if at_call else own, earlier, new, old)


def _is_before(program: Program, place: Place, event: Event) -> bool:
    """Whether a call stands in the function that goes backward, before the loop that does so: what it calls may be right,
    and its place is not."""
    loop, source = loop_of(program, event), program.source_of(place.node)
    here = place.frame is event.frame and source.function(place.node) is event.frame.node
    return loop is not None and here and loop not in source.enclosing(place.node)


def _in_forward(flow: Flow) -> bool:
    return flow.frame is not None and flow.frame.name.endswith(".forward")


def _seen(flow: Flow, frame: Frame | None) -> Place | None:
    """Where a history was made, as the failing function or one of its callers sees it."""
    while frame is not None:
        place = seen_from(flow, frame)
        if place is not None:
            return place
        frame = frame.parent
    return None


def _tell(program: Program, event: Event, tie: Tie) -> Finding:
    here = Place(event.at, event.frame)
    made = tie.old.at if tie.old is not None else None
    name = program.text(made if made is not None else lost.loss_node(event))
    facts: dict[str, Argument] = {"name": Code(name)}
    steps = []
    if tie.old is not None and tie.old.at is not None:
        note = Message("freed-graph-reused.made", {"name": Code(name)})
        steps.append(program.step(Place(tie.old.at, tie.old.frame), note, before="tracked", after="tracked"))
    if tie.earlier.node is not event.at:
        steps.append(program.step(Place(tie.earlier.node, tie.earlier.frame), Message("freed-graph-reused.freed")))
    if tie.new is not None and tie.new.at is not None:
        steps.append(program.step(Place(tie.new.at, tie.new.frame), Message("freed-graph-reused.again")))
    raises = bool(event.facts["again"]) or next(updated.changed(program, event), None) is not None
    text = ERROR if event.facts["again"] else SAVED
    grows = Message("hidden-state-carried.grows")
    steps.append(
        program.step(here, Message("words.surfaces", {"error": "RuntimeError", "text": text}) if raises else grows)
    )
    return program.finding(
        tie.cause,
        tie.place,
        Message(f"{tie.cause}.headline", facts),
        symptom=SYMPTOM if event.facts["again"] else "inplace-saved" if raises else "memory-graph-kept",
        severity="error" if raises else "warning",
        surfaces=here,
        path=steps,
        fixes=[Fix(title=Message(f"{tie.cause}.advice", facts), applicability="display")],
    )
