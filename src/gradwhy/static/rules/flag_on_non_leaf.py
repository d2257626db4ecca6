"""``requires_grad`` changed on a computed tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static.flow.histories import YES
from gradwhy.static.program import Place, Program

CAUSE = "flag-on-non-leaf"


def check(program: Program) -> Iterable[Finding]:
    """Assigning the flag of a tensor that has a history raises, and so does switching it off."""
    seen: set[int] = set()
    for event in program.each("flag"):
        flow = event.flow
        if flow is None or flow.kind != "op" or flow.grad != YES or flow.at is None or id(event.at) in seen:
            continue
        if event.facts["value"] is not False and not isinstance(event.at, ast.Attribute):
            continue
        seen.add(id(event.at))
        place, made = Place(event.at, event.frame), Place(flow.at, flow.frame)
        owner = (
            event.at.value
            if isinstance(event.at, ast.Attribute)
            else getattr(getattr(event.at, "func", None), "value", None)
        )
        facts: dict[str, Argument] = {"name": Code(program.text(owner))}
        yield program.finding(
            CAUSE,
            place,
            Message(f"{CAUSE}.headline", facts),
            symptom="requires-grad-non-leaf",
            surfaces=place,
            path=[
                program.step(made, Message(f"{CAUSE}.made", facts)),
                program.step(place, Message(f"{CAUSE}.flagged")),
            ],
            fixes=[Fix(title=Message(f"{CAUSE}.advice", facts), applicability="display")],
        )
