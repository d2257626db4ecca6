"""Losses that are left unreduced up to ``backward``."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static import lost
from gradwhy.static.flow.histories import YES, Flow
from gradwhy.static.program import Place, Program

CAUSE = "reduction-missing"
ERROR = "grad can be implicitly created only for scalar outputs"
_KEEPS_SHAPE = frozenset({
    "add", "sub", "mul", "truediv", "pow", "neg", "abs", "exp", "log", "log1p", "sqrt", "square", "clamp", "sigmoid", "tanh",
    "relu", "softplus", "clone", "float", "to", "multiply", "subtract", "divide", "div",
})  # fmt: skip
"""Operations whose result has at least as many elements as each of their inputs."""


def check(program: Program) -> Iterable[Finding]:
    """``reduction="none"``, and nothing but elementwise operations from there to ``backward()``."""
    unreduced = {id(event.flow): event for event in program.each("loss") if event.facts["unreduced"]}
    if not unreduced:
        return
    told: set[int] = set()
    for event in program.each("backward"):
        call = event.at
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "backward":
            continue
        starts: tuple[Flow, ...] = event.facts["flows"]
        if call.args or call.keywords or len(starts) != 1 or starts[0].grad != YES:
            continue
        found = next((unreduced[id(flow)] for flow in _same_shape(starts[0]) if id(flow) in unreduced), None)
        if found is None or id(found.at) in told:
            continue
        told.add(id(found.at))
        # Where weights come in after it, what they give is to be reduced.
        last = next(
            (flow for flow in _same_shape(starts[0]) if flow.frame is found.frame and flow.at is not None), None
        )
        place, here = Place((last.at if last else None) or found.at, found.frame), Place(call, event.frame)
        facts: dict[str, Argument] = {
            "loss": Code(program.text(lost.loss_node(event))),
            "subject": program.code(found.at),
        }
        yield program.finding(
            CAUSE,
            place,
            Message(f"{CAUSE}.headline-source", facts),
            symptom="non-scalar",
            surfaces=here,
            path=[
                program.step(Place(found.at, found.frame), Message(f"{CAUSE}.made-source", facts), after="tracked"),
                program.step(here, Message("words.surfaces", {"error": "RuntimeError", "text": ERROR})),
            ],
            fixes=[Fix(title=Message(f"{CAUSE}.advice"), applicability="display")],
        )


def _same_shape(flow: Flow) -> Iterable[Flow]:
    """The histories behind one without a reduction between."""
    todo, seen = [flow], set[int]()
    while todo:
        flow = todo.pop(0)
        if id(flow) in seen:
            continue
        seen.add(id(flow))
        yield flow
        if flow.kind == "op" and flow.name.rpartition(".")[2] in _KEEPS_SHAPE:
            todo += flow.inputs
