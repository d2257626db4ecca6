"""A model that is left in evaluation mode and trained on."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static.flow.frames import Event, Frame
from gradwhy.static.flow.histories import Value
from gradwhy.static.flow.layers import all_modules, named_parameters
from gradwhy.static.flow.values import Const, Instance, Layer
from gradwhy.static.program import Place, Program

CAUSE = "eval-decorated"
_DIFFERENT = ("Dropout", "BatchNorm", "InstanceNorm")


def check(program: Program) -> Iterable[Finding]:
    """It trained in training mode, was switched to evaluation, and its optimizer steps without it having been switched back."""
    if not program.whole:
        return
    told: set[int] = set()
    mode: dict[int, Event] = {}
    trained_before: set[int] = set()
    for event in program.events:
        if event.kind == "train-mode" and event.value is not None:
            mode[id(event.value)] = event
        if event.kind != "step":
            continue
        held = {id(tensor) for tensor in event.tensors}
        for key, switch in mode.items():
            module = switch.value
            if module is None or not _differs(module) or not _all_held(module, held):
                continue
            training = switch.facts["training"]
            if isinstance(training, Const) and training.value:
                trained_before.add(key)
            elif (
                isinstance(training, Const)
                and key in trained_before
                and id(switch.at) not in told
                and _still(program, switch, module)
            ):
                told.add(id(switch.at))
                yield _tell(program, switch, event)


def _still(program: Program, switch: Event, module: Value) -> bool:
    """Whether the module is left as it was switched: for certain, or wherever a condition without an ``else`` held."""
    training = getattr(module, "f", {}).get("#training")
    if isinstance(training, Const):
        return not training.value
    node: ast.AST | None = switch.at
    frame: Frame | None = switch.frame
    conditions: list[ast.If] = []
    while node is not None:
        for outer in program.source_of(node).enclosing(node):
            if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                break
            if isinstance(outer, ast.If):
                conditions.append(outer)
        node, frame = (frame.call, frame.parent) if frame is not None else (None, None)
    return bool(conditions) and not any(condition.orelse for condition in conditions)


def _differs(module: Value) -> bool:
    """Whether the mode makes a difference to it."""
    parts = [
        part.path if isinstance(part, Layer) else part.cls.base
        for part in all_modules(module)
        if isinstance(part, (Layer, Instance))
    ]
    return any(name in path for path in parts for name in _DIFFERENT)


def _all_held(module: Value, held: set[int]) -> bool:
    found = [tensor for _, tensor in named_parameters(module)]
    return bool(found) and all(tensor is not None and id(tensor) in held for tensor in found)


def _tell(program: Program, switch: Event, step: Event) -> Finding:
    place, here = Place(switch.at, switch.frame), Place(step.at, step.frame)
    facts: dict[str, Argument] = {
        "name": Code(program.text(getattr(getattr(switch.at, "func", None), "value", switch.at)))
    }
    return program.finding(
        CAUSE,
        place,
        Message(f"{CAUSE}.headline-source", facts),
        symptom="silent-eval-mode",
        severity="warning",
        surfaces=here,
        path=[
            program.step(place, Message(f"{CAUSE}.switched-source")),
            program.step(here, Message(f"{CAUSE}.trained")),
        ],
        fixes=[Fix(title=Message(f"{CAUSE}.advice-source", facts), applicability="display")],
    )
