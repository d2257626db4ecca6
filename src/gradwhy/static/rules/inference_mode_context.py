"""Values that were made in inference mode: ``inference_mode-context``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static import inputs, lost, silent
from gradwhy.static.flow.histories import Flow
from gradwhy.static.program import Place, Program

CAUSE = "inference_mode-context"
ERROR = "Inference tensors cannot be saved for backward"


def check(program: Program) -> Iterable[Finding]:
    """Losses without a path, and inference tensors that autograd would have to save."""
    yield from lost.findings(program, CAUSE)
    yield from inputs.findings(program, CAUSE)
    yield from silent.findings(program, CAUSE)
    yield from _saved(program)


def _saved(program: Program) -> Iterator[Finding]:
    seen: set[int] = set()
    for event in program.each("inference-used"):
        made = event.facts["made"]
        if not isinstance(made, Flow) or made.inference is None or made.inference.at is None or event.flow is None:
            continue
        if id(made.inference.at) in seen or not _would_save(program, event.flow, made):
            continue
        seen.add(id(made.inference.at))
        place, here = Place(made.inference.at, made.inference.frame), Place(event.at, event.frame)
        where = made.op if made.kind == "off" else made.at
        name = program.text(where)
        facts: dict[str, Argument] = {"name": Code(name)}
        steps = (
            [program.step(Place(where, made.inside or made.frame), Message(f"{CAUSE}.made", facts))]
            if where is not None
            else []
        )
        yield program.finding(
            CAUSE,
            place,
            Message(f"{CAUSE}.headline-inference", facts),
            symptom="inference-tensor",
            surfaces=here,
            path=[
                program.step(place, Message(f"{CAUSE}.opened")),
                *steps,
                program.step(here, Message(f"{CAUSE}.used")),
            ],
            fixes=[Fix(title=Message(f"{CAUSE}.advice-inference"), applicability="display")],
        )


def _would_save(program: Program, flow: Flow, made: Flow) -> bool:
    """Whether the operation saves what it is given: the other factor of a product, the index of an embedding."""
    name = flow.name
    if made in flow.side:
        return name in ("torch.nn.Embedding", "torch.nn.EmbeddingBag", "torch.nn.functional.embedding")
    return name in ("mul", "matmul", "torch.matmul", "torch.mul", "torch.mm", "torch.bmm") or (
        flow.inputs[:1] == (made,) and program.run.table.saves_input(name)
    )
