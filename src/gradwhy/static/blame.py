"""Why a loss has no gradient path: the cut to repair, the freeze, or the flag that came too late."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from gradwhy.findings import Code, Message, Step
from gradwhy.source.slicing import dotted_name
from gradwhy.static.ancestry import Station, stations
from gradwhy.static.flow.frames import Event
from gradwhy.static.flow.gradients import Reach
from gradwhy.static.flow.values import NO, YES, Flow, Tensor, Value, is_module
from gradwhy.static.program import Place, Program

_CONVERSIONS = frozenset({"detach", "data-attribute", "item", "numpy-roundtrip", "tensor-rebuild"})


@dataclass(frozen=True, slots=True)
class Blame:
    """One explanation: ``place`` is what a person would change."""

    cause: str
    place: Place
    steps: tuple[Step, ...] = ()
    cut: Flow | None = None
    certain: bool = True


def blame(program: Program, event: Event, starts: Iterable[Flow]) -> Blame | None:
    """The best explanation for histories without a path."""
    behind = list(stations(starts))
    return (
        _cut(program, behind)
        or _late(program, event, behind)
        or _frozen(program, event, behind)
        or _plain(program, behind)
    )


# -- cuts


def cuts(behind: list[Station]) -> list[Station]:
    """The stations that had a path before them and have none after."""
    return [s for s in behind if s.flow.kind in ("cut", "off") and any(part.grad != NO for part in s.flow.inputs)]


def _cut(program: Program, behind: list[Station]) -> Blame | None:
    found = cuts(behind)
    if not found:
        return None

    def rank(station: Station) -> tuple[bool, bool, int]:
        reach = Reach(list(station.flow.inputs))
        trains = bool(reach.leaves.keys() & program.trained.keys())
        certain = any(part.grad == YES for part in station.flow.inputs)
        return not trains, not certain, station.distance

    best = min(found, key=rank)
    return of_cut(program, best)


def of_cut(program: Program, station: Station) -> Blame:
    """A cut as an explanation."""
    flow = station.flow
    place = place_of(program, flow)
    steps: list[Step] = []
    if flow.kind == "off" and flow.at is not None:
        steps.append(program.step(place, Message(f"{flow.cause}.opened"), after="off"))
    operation = flow.op if flow.kind == "off" else flow.at
    if operation is not None:
        inside = Place(operation, flow.frame if flow.kind == "cut" else None)
        note = Message(f"{flow.cause}.cut", {"op": operation_name(operation)})
        steps.append(program.step(inside, note, before="tracked", after="off" if flow.kind == "off" else "cut"))
    certain = any(part.grad == YES for part in flow.inputs)
    return Blame(flow.cause, place, tuple(steps), flow, certain)


def place_of(program: Program, flow: Flow) -> Place:
    """Where a cut is to be changed: a helper that does nothing but convert is right where it is, and its call is not."""
    assert flow.at is not None
    place = Place(flow.at, flow.frame)
    frame = flow.frame
    while frame is not None and frame.call is not None and flow.cause in _CONVERSIONS and _only_converts(frame.node, flow.at):
        place = Place(frame.call, frame.parent)
        frame = frame.parent
    return place


def _only_converts(function: ast.AST | None, node: ast.AST) -> bool:
    if isinstance(function, ast.Lambda):
        return True
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    body = [s for s in function.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if len(body) != 1 or not isinstance(body[0], ast.Return):
        return False
    given = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)} - {"self", "cls"}
    return base_name(node) in given


def base_name(node: ast.AST) -> str:
    """The name that a chain of methods and torch calls starts from: ``t`` in ``torch.argmax(t.float(), 1)``."""
    while True:
        if isinstance(node, ast.Call):
            on_torch = dotted_name(node.func).partition(".")[0] in ("torch", "F", "Variable", "np", "numpy", "float")
            if isinstance(node.func, ast.Attribute) and not on_torch:
                node = node.func.value
            elif node.args:
                node = node.args[0]
            else:
                return ""
        elif isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        else:
            return node.id if isinstance(node, ast.Name) else ""


def operation_name(node: ast.AST) -> str:
    """What the source calls an operation."""
    if isinstance(node, ast.Call):
        return node.func.attr if isinstance(node.func, ast.Attribute) else dotted_name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    signs = {ast.Gt: ">", ast.Lt: "<", ast.GtE: ">=", ast.LtE: "<=", ast.Eq: "==", ast.NotEq: "!="}
    return signs.get(type(node.ops[0]), "==") if isinstance(node, ast.Compare) else "operation"


# -- flags


def _late(program: Program, event: Event, behind: list[Station]) -> Blame | None:
    """A flag that was set on a tensor after the loss had been computed from it."""
    used = {id(station.flow): station for station in behind}
    for flag in program.events:
        if flag is event:
            break
        if flag.kind != "flag" or not flag.facts.get("value") or flag.flow is None or id(flag.flow) not in used:
            continue
        if flag.flow.owner is None or flag.flow.owner is not flag.tensors[0]:
            continue
        station = used[id(flag.flow)]
        use = next((flow for flow in station.trail() if flow.at is not None), None)
        here = Place(flag.at, flag.frame)
        if flag.flow.kind == "frozen" and use is not None and use.at is not None:
            place = Place(use.at, use.frame)
            steps = [program.step(place, Message("frozen-part.used", {"count": 1}), before="frozen")]
            steps.append(program.step(here, Message("frozen-part.released"), after="leaf"))
            return Blame("frozen-part", place, tuple(steps))
        steps = []
        if use is not None and use.at is not None:
            steps.append(program.step(Place(use.at, use.frame), Message("requires-grad-late.used"), before="plain"))
        steps.append(program.step(here, Message("requires-grad-late.flagged"), after="leaf"))
        return Blame("requires-grad-late", here, tuple(steps))
    return None


def _frozen(program: Program, event: Event, behind: list[Station]) -> Blame | None:
    found = [s for s in behind if s.flow.kind == "frozen" and s.flow.at is not None and s.flow.owner is not None]
    held = [s for s in found if id(s.flow.owner) in program.trained]
    matter = held or found
    if not matter:
        return None
    owners = {id(station.flow.owner) for station in matter}
    for wrong in program.events:
        if wrong is event:
            break
        if wrong.kind == "misspelt" and owners & {id(tensor) for tensor in concerned(wrong)}:
            note = Message("frozen-all.misspelt", {"name": Code(program.text(wrong.at)), "flag": Code("requires_grad"), "count": 1})
            step = program.step(Place(wrong.at, wrong.frame), note, before="frozen", after="frozen")
            return Blame("frozen-all", Place(wrong.at, wrong.frame), (step,))
    counts: dict[int, list[Flow]] = {}
    for station in matter:
        counts.setdefault(id(station.flow.at), []).append(station.flow)
    order = {id(flag.facts["decided"][0]): number for number, flag in enumerate(program.each("flag"))}  # type: ignore[index]
    last = max(counts.values(), key=lambda flows: (order.get(id(flows[0].at), -1), len(flows)))
    flow = last[0]
    assert flow.at is not None
    place = Place(flow.at, flow.frame)
    steps = [program.step(place, Message("frozen-all.froze", {"count": len({id(f.owner) for f in last})}), after="frozen")]
    if flow.op is not None and flow.op is not flow.at:
        steps.append(program.step(Place(flow.op, None), after="frozen"))
    return Blame("frozen-all", place, tuple(steps))


def concerned(event: Event) -> list[Tensor]:
    """The parameters that a misspelt flag was meant for."""
    if event.tensors:
        return list(event.tensors)
    value: Value | None = event.value
    if value is None or not is_module(value):
        return []
    from gradwhy.static.flow.layers import named_parameters

    return [tensor for _, tensor in named_parameters(value) if tensor is not None]


# -- nothing


def _plain(program: Program, behind: list[Station]) -> Blame | None:
    """A leaf that an optimizer holds and that never required grad."""
    for station in behind:
        owner = station.flow.owner
        if owner is not None and id(owner) in program.trained and station.flow.kind == "plain" and station.flow.at is not None:
            place = Place(station.flow.at, station.flow.frame)
            step = program.step(place, Message("requires_grad-missing.made"), after="plain")
            return Blame("requires_grad-missing", place, (step,))
    return None
