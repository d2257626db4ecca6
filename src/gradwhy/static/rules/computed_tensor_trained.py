"""An optimizer that is given a computed tensor."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static.flow.values import YES, Flow
from gradwhy.static.program import Place, Program

CAUSE = "computed-tensor-trained"


def check(program: Program) -> Iterable[Finding]:
    """torch refuses a tensor that has a history."""
    for event in program.each("optimizer"):
        flows: tuple[Flow, ...] = event.facts["flows"]  # type: ignore[assignment]
        computed = next((flow for flow in flows if flow.kind == "op" and flow.grad == YES and flow.at is not None), None)
        if computed is None or computed.at is None:
            continue
        place, here = Place(computed.at, computed.frame), Place(event.at, event.frame)
        facts: dict[str, Argument] = {"name": Code(program.text(computed.at))}
        yield program.finding(
            CAUSE,
            place,
            Message(f"{CAUSE}.headline", facts),
            symptom="non-leaf-optimizer",
            surfaces=here,
            path=[program.step(place, Message(f"{CAUSE}.made", facts)),
                  program.step(here, Message("words.surfaces", {"error": "ValueError", "text": "can't optimize a non-leaf Tensor"}))],
            fixes=[Fix(title=Message(f"{CAUSE}.advice"), applicability="display")],
        )  # fmt: skip
