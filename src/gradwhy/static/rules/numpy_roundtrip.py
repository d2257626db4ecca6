"""NumPy on the way to the loss, or asked of a tensor that requires grad: ``numpy-roundtrip``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static import inputs, lost, silent
from gradwhy.static.flow.histories import YES
from gradwhy.static.program import Place, Program

CAUSE = "numpy-roundtrip"


def check(program: Program) -> Iterable[Finding]:
    """A ``backward`` or ``grad`` that raises, a path that is lost without a word, and a conversion that raises."""
    yield from lost.findings(program, CAUSE)
    yield from inputs.findings(program, CAUSE)
    yield from silent.findings(program, CAUSE)
    yield from _refused(program)


def _refused(program: Program) -> Iterator[Finding]:
    seen: set[int] = set()
    for event in program.each("numpy"):
        flow = event.flow
        if flow is None or flow.grad != YES or id(event.at) in seen:
            continue
        seen.add(id(event.at))
        here = Place(event.at, event.frame)
        name = program.text(getattr(getattr(event.at, "func", None), "value", None) or event.at)
        facts: dict[str, Argument] = {"name": Code(name)}
        made = (
            [program.step(Place(flow.at, flow.frame), Message(f"{CAUSE}.tracked", facts))]
            if flow.at is not None
            else []
        )
        yield program.finding(
            CAUSE,
            here,
            Message(f"{CAUSE}.headline-refused", facts),
            symptom="numpy-requires-grad",
            surfaces=here,
            path=[*made, program.step(here, Message(f"{CAUSE}.asked"))],
            fixes=[Fix(title=Message(f"{CAUSE}.advice-refused", facts), applicability="display")],
        )
