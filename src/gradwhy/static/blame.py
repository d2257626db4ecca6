"""Why a loss has no gradient path: the cut to repair, the freeze, or the flag that came too late."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from gradwhy.findings import Code, Message, Step
from gradwhy.source.slicing import bound_names, dotted_name, names_read
from gradwhy.static.ancestry import Station, stations
from gradwhy.static.flow.declared import DECLARED
from gradwhy.static.flow.frames import Event, Frame
from gradwhy.static.flow.gradients import Reach
from gradwhy.static.flow.histories import NO, PLAIN, YES, Flow, Value
from gradwhy.static.flow.values import Tensor, is_module
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
    """The best explanation for histories without a path: what would bring back the gradient of something that is trained
    with this loss comes before what would not."""
    behind = list(stations(starts))
    wanted, named = trained_with(program, event)
    ranked = sorted(cuts(behind), key=lambda station: _rank(station, wanted))
    late = _late(program, event, behind, wanted if ranked and not any(_rank(ranked[0], wanted)[:3]) else None)
    if late is not None:
        return late
    if ranked and not _rank(ranked[0], wanted)[0]:
        return of_cut(program, ranked[0])
    frozen = [s for s in behind if s.flow.kind == "frozen" and s.flow.at is not None and s.flow.owner is not None]
    held = [s for s in frozen if id(s.flow.owner) in wanted]
    if held:
        return _frozen(program, event, held)
    if ranked:
        return of_cut(program, ranked[0])
    return _plain(program, behind, wanted) or (
        _unused(program, event, behind, frozen)
        if program.whole and (named or (not frozen and event.kind == "backward"))
        else _frozen(program, event, frozen)
    )


def trained_with(program: Program, event: Event) -> tuple[dict[int, Tensor], bool]:
    """What is trained with a loss: the tensors of the optimizer that steps next, and whether there is one."""
    later = program.events[program.events.index(event) :]
    step = next((other for other in later if other.kind == "step"), None)
    if step is not None and step.optimizer is not None and step.tensors and step.optimizer.f["complete"]:
        return {id(tensor): tensor for tensor in step.tensors}, True
    return program.trained, False


# -- cuts


def cuts(behind: list[Station]) -> list[Station]:
    """The stations that had a path before them and have none after."""
    return [s for s in behind if s.flow.kind in ("cut", "off") and any(part.grad != NO for part in s.flow.inputs)]


def _rank(station: Station, wanted: dict[int, Tensor]) -> tuple[bool, bool, bool, int]:
    reach = Reach(list(station.flow.inputs))
    certain = any(part.grad == YES for part in station.flow.inputs)
    return not reach.leaves.keys() & wanted.keys(), station.aside, not certain, station.distance


def of_cut(program: Program, station: Station) -> Blame:
    """A cut as an explanation."""
    flow = station.flow
    place = _rebinding(program, flow) or place_of(program, flow)
    steps: list[Step] = []
    if flow.kind == "off" and flow.at is not None:
        steps.append(program.step(place, Message(f"{flow.cause}.opened"), after="off"))
    operation = flow.op if flow.kind == "off" else flow.at
    if operation is not None:
        inside = Place(operation, flow.frame if flow.kind == "cut" else flow.inside)
        key = "declared" if flow.name == DECLARED else "cut"
        note = Message(f"{flow.cause}.{key}", {"op": operation_name(operation)})
        steps.append(program.step(inside, note, before="tracked", after="off" if flow.kind == "off" else "cut"))
    certain = any(part.grad == YES for part in flow.inputs)
    return Blame(flow.cause, place, tuple(steps), flow, certain)


def place_of(program: Program, flow: Flow) -> Place:
    """Where a cut is to be changed: a helper that does nothing but convert is right where it is, and its call is not."""
    assert flow.at is not None
    place = Place(flow.at, flow.frame)
    frame = flow.frame
    while (
        frame is not None
        and frame.call is not None
        and flow.cause in _CONVERSIONS
        and _only_converts(frame.node, flow.at)
    ):
        place = Place(frame.call, frame.parent)
        frame = frame.parent
    return place


def _rebinding(program: Program, flow: Flow) -> Place | None:
    """``w = w - lr * w.grad`` with recording off: the block is right, what replaces a leaf by a plain tensor is not."""
    if flow.kind != "off" or flow.op is None or flow.at is None or not any(part.kind == "leaf" for part in flow.inputs):
        return None
    statement = program.source_of(flow.op).statement(flow.op)
    if not isinstance(program.source_of(flow.at).statement(flow.at), (ast.With, ast.AsyncWith)):
        return None
    if not isinstance(statement, ast.Assign) or program.source_of(statement).function(
        statement
    ) is not program.source_of(flow.at).function(flow.at):
        return None
    names = {name for target in statement.targets for name in bound_names(target)}
    return Place(statement, flow.frame) if names & names_read(statement.value) else None


def _only_converts(function: ast.AST | None, node: ast.AST) -> bool:
    if isinstance(function, ast.Lambda):
        return True
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    body = [s for s in function.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if len(body) != 1 or not isinstance(body[0], ast.Return):
        return False
    if not _ends_in(body[0].value, node):
        return False
    given = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)} - {"self", "cls"}
    return base_name(node, function) in given


def _ends_in(value: ast.expr | None, node: ast.AST) -> bool:
    """Whether an expression is a chain of calls and attributes on ``node``, or makes a list of such."""
    while value is not None and value is not node:
        if isinstance(value, (ast.ListComp, ast.GeneratorExp)):
            value = value.elt
        elif isinstance(value, ast.Attribute):
            value = value.value
        elif isinstance(value, ast.Call):
            value = value.func.value if isinstance(value.func, ast.Attribute) and value.func.value is not None else None
        else:
            return False
    return value is node


def base_name(node: ast.AST, function: ast.AST) -> str:
    """The name that a chain of methods and torch calls starts from: ``t`` in ``torch.argmax(t.float(), 1)``; of an item of
    a comprehension, that of what it goes through."""
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
            name = node.id if isinstance(node, ast.Name) else ""
            loops = [c for c in ast.walk(function) if isinstance(c, ast.comprehension)]
            loop = next((c for c in loops if name and name in bound_names(c.target)), None)
            if loop is None or node is loop.iter:
                return name
            node = loop.iter


def operation_name(node: ast.AST) -> str:
    """What the source calls an operation."""
    if isinstance(node, ast.Call):
        return node.func.attr if isinstance(node.func, ast.Attribute) else dotted_name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    signs = {ast.Gt: ">", ast.Lt: "<", ast.GtE: ">=", ast.LtE: "<=", ast.Eq: "==", ast.NotEq: "!="}
    return signs.get(type(node.ops[0]), "==") if isinstance(node, ast.Compare) else "operation"


# -- flags


def _late(program: Program, event: Event, behind: list[Station], restored: dict[int, Tensor] | None) -> Blame | None:
    """A flag that was set on a tensor after the loss had been computed from it. Where a cut was found without which all that
    is trained (``restored``) would get its gradient, a flag on something else explains nothing."""
    used = {id(station.flow): station for station in behind}
    for flag in program.events:
        if flag is event:
            break
        if flag.kind != "flag" or not flag.facts.get("value") or flag.flow is None or id(flag.flow) not in used:
            continue
        if flag.flow is PLAIN or (flag.flow.owner is not None and flag.flow.owner is not flag.tensors[0]):
            continue
        if restored is not None and id(flag.tensors[0]) not in restored:
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


def _frozen(program: Program, event: Event, matter: list[Station]) -> Blame | None:
    if not matter:
        return None
    owners = {id(station.flow.owner) for station in matter}
    for wrong in program.events:
        if wrong is event:
            break
        if wrong.kind == "misspelt" and owners & {id(tensor) for tensor in concerned(wrong)}:
            note = Message(
                "frozen-all.misspelt", {"name": Code(program.text(wrong.at)), "flag": Code("requires_grad"), "count": 1}
            )
            step = program.step(Place(wrong.at, wrong.frame), note, before="frozen", after="frozen")
            return Blame("frozen-all", Place(wrong.at, wrong.frame), (step,))
    counts: dict[int, list[Flow]] = {}
    for station in matter:
        counts.setdefault(id(station.flow.at), []).append(station.flow)
    order = {id(flag.facts["decided"][0]): number for number, flag in enumerate(program.each("flag"))}
    last = max(counts.values(), key=lambda flows: (order.get(id(flows[0].at), -1), len(flows)))
    flow = last[0]
    assert flow.at is not None
    place = Place(flow.at, flow.frame)
    steps = [
        program.step(place, Message("frozen-all.froze", {"count": len({id(f.owner) for f in last})}), after="frozen")
    ]
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


def _plain(program: Program, behind: list[Station], wanted: dict[int, Tensor]) -> Blame | None:
    """A leaf that an optimizer holds and that never required grad."""
    for station in behind:
        owner = station.flow.owner
        if owner is not None and id(owner) in wanted and station.flow.kind == "plain" and station.flow.at is not None:
            place = Place(station.flow.at, station.flow.frame)
            step = program.step(place, Message("requires_grad-missing.made"), after="plain")
            return Blame("requires_grad-missing", place, (step,))
    return None


def _unused(program: Program, event: Event, behind: list[Station], frozen: list[Station]) -> Blame | None:
    """A loss that was computed from something else than what is trained."""
    for station in (*frozen[:1], *behind):
        for flow in (station.flow, *station.trail()):
            place = seen_from(flow, event.frame)
            if place is not None:
                key = "other" if frozen else "made"
                return Blame(
                    "module-unused", place, (program.step(place, Message(f"module-unused.{key}"), after="plain"),)
                )
    return None


def seen_from(flow: Flow, frame: Frame) -> Place | None:
    """The node in ``frame`` that a history was computed under."""
    node, at = flow.at, flow.frame
    while node is not None and at is not None and at is not frame:
        node, at = at.call, at.parent
    return Place(node, frame) if node is not None and at is frame else None
