"""Flags that are spelt wrongly, or set on a module, where they were meant to freeze: everything goes on training."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static import remedy
from gradwhy.static.blame import concerned
from gradwhy.static.flow.flags import FLAG
from gradwhy.static.flow.frames import Event
from gradwhy.static.flow.values import Const, Tensor
from gradwhy.static.program import Place, Program

CAUSE = "misspelt-flag"


def check(program: Program) -> Iterable[Finding]:
    """``p.require_grad = False`` and ``module.requires_grad = False``, of parameters that nothing else freezes."""
    frozen = {id(e.tensors[0]) for e in program.each("flag") if e.facts["value"] is not True}
    told: dict[int, tuple[Event, list[Tensor]]] = {}
    for event in program.each("misspelt"):
        value = event.facts.get("set", event.value)
        if not isinstance(value, Const) or value.value is not False or _is_read(program, event.subject):
            continue
        meant = [tensor for tensor in concerned(event) if tensor.parameter]
        told.setdefault(id(event.at), (event, []))[1].extend(meant)
    for event, meant in told.values():
        if meant and not any(id(t) in frozen or t.flow.kind == "frozen" for t in meant):
            yield _tell(program, event, meant)


def _is_read(program: Program, name: str) -> bool:
    """Whether the program reads the attribute: then it is a mark of its own."""
    if name == FLAG:
        return False
    return any(
        (isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load))
        or (isinstance(node, ast.Constant) and node.value == name)
        for node in program.all_nodes()
    )


def _tell(program: Program, event: Event, meant: list[Tensor]) -> Finding:
    node = event.at
    place = Place(node, event.frame)
    key = "misspelt" if event.tensors else "module"
    facts: dict[str, Argument] = {"flag": Code(program.text(node))}
    message = Message(f"{CAUSE}.headline-{key}-source", facts)
    fault = remedy.Fault(cause=CAUSE, file=program.file_of(node), source=program.source_of(node), node=node)
    return program.finding(
        CAUSE,
        place,
        message,
        symptom="silent-not-frozen",
        severity="error" if any(id(tensor) in program.trained for tensor in meant) else "warning",
        path=[program.step(place, message, before="leaf", after="leaf")],
        fixes=[*remedy.fixes(fault), Fix(title=Message(f"{CAUSE}.advice-{key}"), applicability="display")],
    )
