"""An optimizer that goes on with parameters which the model has replaced since."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static import lost
from gradwhy.static.flow.frames import Event
from gradwhy.static.flow.gradients import Reach
from gradwhy.static.flow.histories import Value
from gradwhy.static.flow.layers import named_parameters
from gradwhy.static.flow.values import Instance, Layer, Optimizer, Tensor, Unknown, is_module, plain
from gradwhy.static.program import Place, Program

CAUSE = "stale-optimizer"


def check(program: Program) -> Iterable[Finding]:
    """A module or parameter that an optimizer holds is replaced, and the optimizer steps without having got the new one."""
    told: set[int] = set()
    events = program.events
    for index, event in enumerate(events):
        if event.kind != "replaced":
            continue
        new = _tensors(event.facts["after"])
        if not new:
            continue
        for optimizer in _holding(events[:index], event):
            stepped = next(
                (later for later in events[index:] if later.kind == "step" and later.optimizer is optimizer), None
            )
            if stepped is None or id(optimizer.made) in told or _given(events, optimizer, stepped, new):
                continue
            if _is_kept(event, events[:index]) or _is_kept(
                event, events[index + 1 : events.index(stepped)], later=True
            ):
                continue
            told.add(id(optimizer.made))
            yield _tell(program, event, optimizer, stepped)
    for optimizer, stepped in _abandoned(program):
        if id(optimizer.made) not in told:
            yield _tell_abandoned(program, optimizer, stepped)


def _abandoned(program: Program) -> Iterator[tuple[Optimizer, Event]]:
    """Optimizers that step, while every gradient goes to parameters that nobody holds."""
    passes = program.each("backward")
    if not program.whole or lost.explained(program) or not passes:
        return
    reached: dict[int, Tensor] = {}
    for event in passes:
        reach = event.facts["reach"]
        if not isinstance(reach, Reach) or not reach.certain or reach.maybe:
            return
        reached.update(reach.leaves)
    if any(key in program.trained for key in reached) or not any(tensor.parameter for tensor in reached.values()):
        return
    for optimizer in program.optimizers:
        stepped = next((event for event in program.each("step") if event.optimizer is optimizer), None)
        params = optimizer.f["params"]
        if (
            stepped is not None
            and optimizer.f["complete"]
            and params
            and all(t.parameter and t.flow.kind == "leaf" for t in params)
        ):
            yield optimizer, stepped


def _holding(before: list[Event], event: Event) -> Iterator[Optimizer]:
    """The optimizers that were given what is replaced."""
    old = {id(tensor) for tensor in _tensors(event.facts["before"])}
    for made in before:
        optimizer = made.optimizer
        if made.kind != "optimizer" or optimizer is None:
            continue
        given = {id(tensor) for tensor in optimizer.f["params"]}
        if old and old <= given:
            yield optimizer
        elif isinstance(event.value, Unknown) and event.facts["before"] is None and event.value in optimizer.f["of"]:
            # A model that the file does not show: its parameters, this part's among them, were all handed over.
            yield optimizer


def _is_kept(event: Event, others: list[Event], later: bool = False) -> bool:
    """Whether the old tensors have another name, of the same statement, or take their place again before the step: two networks
    that are swapped, and swapped back."""
    old = {id(tensor) for tensor in _tensors(event.facts["before"])}
    return any(
        each.kind == "replaced"
        and bool(old)
        and old <= {id(tensor) for tensor in _tensors(each.facts["after"])}
        and (later or _line(each) == _line(event))
        for each in others
    )


def _line(event: Event) -> tuple[int, int]:
    return id(event.frame), getattr(event.at, "lineno", 0)


def _given(events: list[Event], optimizer: Optimizer, stepped: Event, new: list[Tensor]) -> bool:
    """Whether the optimizer was given the new tensors, by then or later, or they train elsewhere."""
    keys = {id(tensor) for tensor in new}
    return any(
        event.kind == "optimizer" and keys & {id(t) for t in event.tensors} and event.optimizer is optimizer
        for event in events
    )


def _tensors(value: object) -> list[Tensor]:
    value = plain(value) if isinstance(value, Value) else value
    if isinstance(value, Tensor):
        return [value] if value.parameter else []
    if isinstance(value, (Layer, Instance)) and is_module(value):
        return [tensor for _, tensor in named_parameters(value) if tensor is not None]
    return []


def _tell(program: Program, event: Event, optimizer: Optimizer, stepped: Event) -> Finding:
    built, here = Place(optimizer.made, optimizer.frame), Place(event.at, event.frame)
    name = _name(program, optimizer)
    facts: dict[str, Argument] = {
        "subject": Code(program.text(event.at)),
        "optimizer": Code(name),
        "name": Code(program.text(event.at)),
    }
    return program.finding(
        CAUSE,
        built,
        Message(f"{CAUSE}.headline-replaced", facts),
        symptom="silent-stale-optimizer",
        surfaces=Place(stepped.at, stepped.frame),
        path=[
            program.step(built, Message(f"{CAUSE}.built")),
            program.step(here, Message(f"{CAUSE}.headline-replaced", facts)),
        ],
        fixes=[Fix(title=Message(f"{CAUSE}.advice-audit", facts), applicability="display")],
    )


def _name(program: Program, optimizer: Optimizer) -> str:
    statement = program.source_of(optimizer.made).statement(optimizer.made)
    if isinstance(statement, ast.Assign):
        return program.text(statement.targets[0])
    return optimizer.path.rpartition(".")[2]


def _tell_abandoned(program: Program, optimizer: Optimizer, stepped: Event) -> Finding:
    built = Place(optimizer.made, optimizer.frame)
    name = _name(program, optimizer)
    facts: dict[str, Argument] = {
        "count": len(optimizer.f["params"]),
        "optimizer": Code(name),
        "name": Code("model.parameters()"),
    }
    return program.finding(
        CAUSE,
        built,
        Message(f"{CAUSE}.headline", facts),
        symptom="silent-stale-optimizer",
        surfaces=Place(stepped.at, stepped.frame),
        path=[program.step(built, Message(f"{CAUSE}.built"))],
        fixes=[Fix(title=Message(f"{CAUSE}.advice", facts), applicability="display")],
    )
