"""``torch.autograd.grad`` for tensors that have no gradient path, or that the outputs do not depend on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static.ancestry import stations
from gradwhy.static.blame import Blame, blame, cuts, of_cut, seen_from
from gradwhy.static.flow.frames import Event, Frame
from gradwhy.static.flow.gradients import Reach
from gradwhy.static.flow.histories import NO, PLAIN, YES, Flow
from gradwhy.static.flow.values import Tensor
from gradwhy.static.program import Place, Program

NO_GRAD = "One of the differentiated Tensors does not require grad"
UNUSED = "One of the differentiated Tensors appears to not have been used in the graph"


def findings(program: Program, cause: str) -> Iterator[Finding]:
    """The findings of one cause among the entries that autograd refuses."""
    known = program.__dict__.get("_inputs")
    if known is None:
        known = program.__dict__["_inputs"] = list(_all(program))
    yield from (finding for finding in known if finding.cause == cause)


def _all(program: Program) -> Iterator[Finding]:
    places: set[tuple[str, str, int]] = set()
    for event in program.each("grad"):
        outputs: tuple[Flow, ...] = event.facts["flows"]
        if not outputs or any(flow.grad != YES for flow in outputs):
            continue
        wanted: tuple[tuple[Tensor, Flow], ...] = event.facts["wanted"]
        for index, (_, flow) in enumerate(wanted):
            found: Blame | None = None
            symptom = "input-no-grad"
            if flow.grad == NO:
                found = _no_grad(program, event, flow)
            elif flow.grad == YES and not event.facts["allow_unused"]:
                symptom = "input-unused"
                found = _unused(program, event, flow, outputs)
            if found is not None and (key := (found.cause, *program.line_of(found.place))) not in places:
                places.add(key)
                yield _tell(program, event, found, symptom, _name(program, event, index), index, len(wanted))
                break


def _no_grad(program: Program, event: Event, flow: Flow) -> Blame | None:
    late = _flagged(program, event, {id(flow)})
    if late is not None:
        return late
    behind = list(stations([flow]))
    found = blame(program, event, [flow])
    if found is not None and found.cut is not None and _is_mixed(flow, found.cut):
        found = None
    if found is not None and found.cause != "module-unused":
        if found.cause != "frozen-all":
            return found
        # The freeze is meant; what was computed from frozen parameters alone is what has no path.
        place = seen_from(flow, event.frame) or _seen_before(flow, event) or found.place
        return Blame("frozen-part", place, found.steps)
    if any(station.flow.kind == "unknown" for station in behind) or flow is PLAIN or flow.at is None:
        return None
    place = Place(flow.at, flow.frame)
    return Blame(
        "requires_grad-missing", place, (program.step(place, Message("requires_grad-missing.made"), after="plain"),)
    )


def _is_mixed(flow: Flow, cut: Flow) -> bool:
    """Whether a value was put together from several, of which the cut made only one: a point between real and made ones."""
    return cut is not flow and cut not in flow.inputs and len(flow.inputs) > 1


def _seen_before(flow: Flow, event: Event) -> Place | None:
    frame: Frame | None = event.frame
    while frame is not None:
        place = seen_from(flow, frame)
        if place is not None:
            return place
        frame = frame.parent
    return None


def _flagged(program: Program, event: Event, used: set[int]) -> Blame | None:
    """A flag set too late on one of the histories that were used."""
    for flag in program.events:
        if flag is event:
            return None
        if flag.kind == "flag" and flag.facts.get("value") and flag.flow is not None and flag.flow is not PLAIN:
            if id(flag.flow) in used and flag.flow.grad == NO:
                here = Place(flag.at, flag.frame)
                step = program.step(here, Message("requires-grad-late.flagged"), after="leaf")
                return Blame("requires-grad-late", here, (step,))
    return None


def _unused(program: Program, event: Event, flow: Flow, outputs: tuple[Flow, ...]) -> Blame | None:
    reach = event.facts["reach"]
    assert isinstance(reach, Reach)
    if not reach.certain or id(flow) in reach.stations or (flow.owner is not None and id(flow.owner) in reach.leaves):
        return None
    if flow.owner is not None and id(flow.owner) in reach.maybe:
        return None
    behind = list(stations(outputs, through=YES))
    if any(station.flow is flow for station in behind if station.flow.kind == "join"):
        return None
    if any(station.flow.kind == "unknown" for station in behind):
        return None
    used = {id(station.flow) for station in behind}
    if flow.kind == "leaf":
        late = _flagged(program, event, used)
        if late is not None and late.cause == "requires-grad-late":
            return late
    lost = [s for s in cuts(behind) if flow in _inside(list(s.flow.inputs))]
    if lost:
        return of_cut(program, lost[0])
    if flow.kind == "op" and flow.at is not None and id(flow) not in used:
        asked = _entry(event, 0)
        place = Place(asked if asked is not None else flow.at, event.frame)
        return Blame("wrong-list-entry", place)
    return None


def _inside(starts: list[Flow]) -> list[Flow]:
    return list(Reach(starts).stations.values())


def _entry(event: Event, index: int) -> ast.AST | None:
    call = event.at
    if not isinstance(call, ast.Call):
        return None
    given = call.args[1] if len(call.args) > 1 else next((k.value for k in call.keywords if k.arg == "inputs"), None)
    if isinstance(given, (ast.Tuple, ast.List)) and index < len(given.elts):
        return given.elts[index]
    return given


def _name(program: Program, event: Event, index: int) -> str:
    return program.text(_entry(event, index))


def _tell(program: Program, event: Event, found: Blame, symptom: str, name: str, index: int, of: int) -> Finding:
    here = Place(event.at, event.frame)
    facts: dict[str, Argument] = {"name": Code(name), "subject": Code(program.text(found.place.node))}
    key = "headline-entry"
    if found.cause == "wrong-list-entry":
        key = "headline"
    asked = Message(f"{symptom}.asked", {"name": Code(name), "index": index, "of": of})
    return program.finding(
        found.cause,
        found.place,
        Message(f"{found.cause}.{key}", facts),
        symptom=symptom,
        surfaces=here,
        path=[*found.steps, program.step(here, asked)],
        fixes=[
            Fix(
                title=Message(f"{found.cause}.advice{'' if key == 'headline' else '-entry'}", facts),
                applicability="display",
            )
        ],
    )
