"""Writes in place that autograd refuses, or that destroy what a backward pass needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static.flow.frames import Event
from gradwhy.static.flow.gradients import Reach
from gradwhy.static.flow.histories import YES, Flow
from gradwhy.static.flow.tensors import PARTS
from gradwhy.static.program import Place, Program

Saves: TypeAlias = Callable[[str], bool]
SAVED = "one of the variables needed for gradient computation has been modified by an inplace operation"


def on_leaves(program: Program) -> Iterator[Finding]:
    """A leaf that requires grad is changed in place while recording is on."""
    seen: set[int] = set()
    for event in program.each("inplace"):
        if event.flow is None or event.flow.kind != "leaf" or id(event.at) in seen:
            continue
        seen.add(id(event.at))
        place = Place(event.at, event.frame)
        name = program.text(
            getattr(event.at, "target", None) or getattr(getattr(event.at, "func", None), "value", event.at)
        )
        facts: dict[str, Argument] = {"name": Code(name), "subject": Code(program.text(event.at))}
        yield program.finding(
            "inplace-op",
            place,
            Message("inplace-op.headline-leaf", facts),
            symptom="inplace-leaf",
            surfaces=place,
            path=[program.step(place, Message("inplace-op.written-leaf"))],
            fixes=[Fix(title=Message("inplace-op.advice-leaf"), applicability="display")],
        )


def on_views(program: Program) -> Iterator[Finding]:
    """One of several views of a tensor is changed in place while recording is on."""
    seen: set[int] = set()
    for event in program.each("written"):
        flow = event.flow
        last = flow.name.rpartition(".")[2] if flow is not None else ""
        if (
            flow is None
            or flow.grad != YES
            or last not in PARTS
            or not event.facts.get("recording")
            or id(event.at) in seen
        ):
            continue
        if (
            last not in ("chunk", "split", "unbind", "tensor_split", "hsplit", "vsplit", "split_with_sizes")
            or flow.at is None
        ):
            continue
        seen.add(id(event.at))
        place, made = Place(event.at, event.frame), Place(flow.at, flow.frame)
        name = program.text(
            getattr(event.at, "target", None) or getattr(getattr(event.at, "func", None), "value", event.at)
        )
        facts: dict[str, Argument] = {"name": Code(name), "op": Code(last), "subject": Code(program.text(event.at))}
        yield program.finding(
            "view-inplace",
            place,
            Message("view-inplace.headline", facts),
            symptom="inplace-view",
            surfaces=place,
            path=[
                program.step(made, Message("view-inplace.made", facts)),
                program.step(place, Message("view-inplace.written", facts)),
            ],
            fixes=[Fix(title=Message("view-inplace.advice", facts), applicability="display")],
        )


def on_saved(program: Program) -> Iterator[Finding]:
    """A value that an operation saved for its backward is changed before that backward."""
    table = program.run.table
    written: dict[int, list[Event]] = {}
    seen: set[int] = set()
    for event in program.events:
        if event.kind == "written" and event.flow is not None:
            written.setdefault(id(event.flow), []).append(event)
        if event.kind not in ("backward", "grad") or event.facts["again"]:
            continue
        reach: Reach = event.facts["reach"]
        for flow in reach.stations.values():
            found = _overwritten(flow, table.saves_output, table.saves_input, written)
            if found is None or id(found[0].at) in seen:
                continue
            seen.add(id(found[0].at))
            yield _tell(program, event, flow, *found)
            break


def _overwritten(
    flow: Flow, saves_output: Saves, saves_input: Saves, written: dict[int, list[Event]]
) -> tuple[Event, Flow] | None:
    """(the write, the history that it destroyed), where an operation had saved that one."""
    if flow.kind != "op" or not flow.name:
        return None
    if saves_output(flow.name):
        for event in written.get(id(flow), ()):
            return event, flow
    if (saves_input(flow.name) or flow.name == "matmul") and flow.inputs:
        first = flow.inputs[0]
        for saved in (first, *(first.inputs[:1] if first.name == "[:]" else ())):
            for event in written.get(id(saved), ()):
                if event.facts["serial"] > flow.serial and saved.grad == YES:
                    return event, first
    return None


def _tell(program: Program, event: Event, flow: Flow, write: Event, saved: Flow) -> Finding:
    here, place = Place(event.at, event.frame), Place(write.at, write.frame)
    name = program.text(saved.at)
    facts: dict[str, Argument] = {
        "name": Code(name),
        "op": flow.name.rpartition(".")[2],
        "subject": Code(program.text(write.at)),
    }
    steps = (
        [program.step(Place(flow.at, flow.frame), Message("inplace-op.saved", facts))] if flow.at is not None else []
    )
    return program.finding(
        "inplace-op",
        place,
        Message("inplace-op.headline", facts),
        symptom="inplace-saved",
        surfaces=here,
        path=[*steps, program.step(place, Message("inplace-op.written")),
              program.step(here, Message("words.surfaces", {"error": "RuntimeError", "text": SAVED}))],
        fixes=[Fix(title=Message("inplace-op.advice", facts), applicability="display")],
    )  # fmt: skip
