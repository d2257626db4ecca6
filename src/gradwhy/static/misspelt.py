"""Flags that are spelt wrongly, or set on a module: they set nothing."""

from __future__ import annotations

from collections.abc import Iterator

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static import lost, remedy
from gradwhy.static.blame import concerned
from gradwhy.static.flow.values import Const
from gradwhy.static.program import Place, Program


def findings(program: Program) -> Iterator[Finding]:
    """Flags meant to release parameters that stay frozen; those that a failing loss is explained by are told there."""
    told = {id(found.place.node) for _, found in lost.explained(program)}
    seen: set[int] = set()
    for event in program.each("misspelt"):
        value = event.facts.get("set", event.value)
        meant = not (isinstance(value, Const) and not value.value)
        if not meant or id(event.at) in told | seen:
            continue
        frozen = [tensor for tensor in concerned(event) if tensor.parameter]
        if not frozen:
            continue
        seen.add(id(event.at))
        place = Place(event.at, event.frame)
        text = program.text(event.at)
        facts: dict[str, Argument] = {"name": Code(text), "flag": Code("requires_grad"), "count": len(frozen)}
        source, file = program.source_of(event.at), program.file_of(event.at)
        fault = remedy.Fault(cause="frozen-all", file=file, source=source, node=event.at)
        yield program.finding(
            "frozen-part",
            place,
            Message("frozen-all.misspelt", facts),
            symptom="silent-none-grad",
            path=[program.step(place, Message("frozen-all.misspelt", facts), before="frozen", after="frozen")],
            fixes=[*remedy.fixes(fault), Fix(title=Message("frozen-all.advice-misspelt"), applicability="display")],
        )
