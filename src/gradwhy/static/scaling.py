"""What the calls of a ``GradScaler`` and the passes of scaled losses say."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static.flow.frames import Event
from gradwhy.static.flow.gradients import Reach
from gradwhy.static.flow.scaling import SCALED
from gradwhy.static.program import Place, Program

BACKWARD = ("backward", "backward-unknown")


def is_scaled(event: Event) -> bool:
    """Whether what goes backward is what ``scaler.scale(loss)`` gave."""
    if event.kind == "backward-unknown":
        return bool(event.facts.get("scaled"))
    starts = event.facts["flows"]
    return bool(starts) and all(flow.name == SCALED for flow in starts)


def is_on(call: Event) -> bool:
    """Whether the scaler is one that was not made with ``enabled=False``."""
    return getattr(call.value, "f", {}).get("#scaler") is True


def reaches(passed: Event, step: Event) -> bool:
    """Whether a pass may fill gradients of what an optimizer holds."""
    if passed.kind == "backward-unknown":
        return True
    reach: Reach = passed.facts["reach"]
    held = {id(tensor) for tensor in step.tensors}
    return bool((reach.leaves.keys() | reach.maybe.keys()) & held)


def calls(program: Program) -> Iterable[list[tuple[int, Event]]]:
    """The calls of each scaler that the file makes and keeps to itself, in order, with their places among the events."""
    found: dict[int, list[tuple[int, Event]]] = {}
    for index, event in enumerate(program.events):
        if event.kind == "scaler" and is_on(event) and "#escaped" not in getattr(event.value, "f", {}):
            found.setdefault(id(event.value), []).append((index, event))
    return list(found.values())


def tell(program: Program, cause: str, event: Event, key: str, facts: dict[str, Argument]) -> Finding:
    """A finding about one call of a scaler; ``key`` chooses among the cause's sentences."""
    suffix = f"-{key}" if key else ""
    place = Place(event.at, event.frame)
    owner = event.at.func.value if isinstance(event.at, ast.Call) and isinstance(event.at.func, ast.Attribute) else None
    given = event.at.args[0] if isinstance(event.at, ast.Call) and event.at.args else None
    filled: dict[str, Argument] = {
        "scaler": Code(program.text(owner)),
        "optimizer": Code(program.text(given)),
        "subject": Code(program.text(event.at)),
        **facts,
    }
    message = Message(f"{cause}.headline{suffix}", filled)
    return program.finding(
        cause,
        place,
        message,
        symptom="amp",
        path=[program.step(place, message)],
        fixes=[Fix(title=Message(f"{cause}.advice{suffix}", filled), applicability="display")],
    )
