"""Losses that take the softmax or the sigmoid themselves, of what has been through one already."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static import remedy
from gradwhy.static.flow.frames import Event
from gradwhy.static.flow.gradients import Reach
from gradwhy.static.flow.histories import NO, Flow
from gradwhy.static.program import Place, Program

CAUSE = "probabilities-as-logits"
_SAME_VALUES = frozenset({"[:]", "[]", "[i]", "torch.nn.Flatten", "torch.nn.Unflatten", "torch.nn.Identity"})
_CONVERTED = frozenset(
    {"torch.Tensor.to", "torch.Tensor.double", "torch.Tensor.half", "torch.Tensor.bfloat16", "torch.Tensor.view"}
)


def check(program: Program) -> Iterable[Finding]:
    """A loss that goes backward and wants logits is given probabilities, whichever way its argument was computed."""
    trained: set[int] = set()
    for event in program.each("backward", "grad"):
        reach: Reach = event.facts["reach"]
        trained |= reach.stations.keys()
    told: set[int] = set()
    for event in program.each("loss"):
        given = event.facts["given"]
        if id(event.flow) not in trained or given is None or program.run.table.wants_logits(event.subject) is None:
            continue
        made = list(_made(program, given))
        if not made or None in made:
            continue
        for flow in made:
            if flow is not None and id(_node(flow)) not in told:
                told.add(id(_node(flow)))
                yield _tell(program, event, flow)


def _made(program: Program, given: Flow, depth: int = 12) -> Iterator[Flow | None]:
    """The calls that gave the probabilities; None for each way on which they may be something else."""
    table = program.run.table
    if given.kind == "join" and depth:
        for part in given.inputs:
            yield from _made(program, part, depth - 1)
    elif given.kind != "op" or given.grad == NO or given.at is None:
        yield None
    elif (over := table.gives_probabilities(given.name)) is not None:
        yield given if over == "each" or _over_classes(given) else None
    elif len(given.inputs) == 1 and depth and _keeps_values(program, given.name):
        yield from _made(program, given.inputs[0], depth - 1)
    else:
        yield None


def _keeps_values(program: Program, name: str) -> bool:
    return name in _SAME_VALUES or name in _CONVERTED or (program.run.table.is_view(name) and "dropout" not in name)


def _node(flow: Flow) -> ast.AST | None:
    return flow.layer if flow.layer is not None else flow.at


def _over_classes(flow: Flow) -> bool:
    """Whether the dimension may be that of the classes, which is 1 for a loss: a softmax over another one is something else."""
    call = _node(flow)
    if not isinstance(call, ast.Call):
        return True
    numbers = [arg for arg in call.args if isinstance(arg, (ast.Constant, ast.UnaryOp))]
    dim = next((k.value for k in call.keywords if k.arg in ("dim", "axis")), numbers[-1] if numbers else None)
    return not isinstance(dim, (ast.Constant, ast.UnaryOp)) or ast.unparse(dim) in ("1", "-1", "None")


def _tell(program: Program, event: Event, flow: Flow) -> Finding:
    node, loss = _node(flow), event.at
    assert node is not None
    place, here = Place(node, flow.frame if flow.layer is None else None), Place(loss, event.frame)
    applied = program.run.table.wants_logits(event.subject) or ""
    facts: dict[str, Argument] = {
        "subject": Code(program.text(node)),
        "loss": Code(program.text(getattr(loss, "func", loss))),
        "applied": applied,
    }
    given = loss.args[0] if isinstance(loss, ast.Call) and loss.args else None
    fault = remedy.Fault(
        cause=CAUSE, file=program.file_of(node), source=program.source_of(node), node=node,
        loss_call=loss if isinstance(loss, ast.Call) and given is not None else None,
    )  # fmt: skip
    return program.finding(
        CAUSE,
        place,
        Message(f"{CAUSE}.headline", facts),
        symptom="silent-zero-grad",
        severity="warning",
        surfaces=here,
        path=[
            program.step(place, Message(f"{CAUSE}.made"), before="tracked", after="tracked"),
            program.step(here, Message(f"{CAUSE}.taken", facts), before="tracked", after="tracked"),
        ],
        fixes=[*remedy.fixes(fault), Fix(title=Message(f"{CAUSE}.advice", facts), applicability="display")],
    )
