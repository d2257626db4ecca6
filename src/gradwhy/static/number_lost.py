"""Losses that have become Python numbers: ``backward`` of a float."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradwhy.findings import Argument, Code, Finding, Message
from gradwhy.source.slicing import called
from gradwhy.static import lost
from gradwhy.static.ancestry import stations
from gradwhy.static.blame import of_cut
from gradwhy.static.flow.frames import Event
from gradwhy.static.order import outwards
from gradwhy.static.program import Place, Program

SYMPTOM = "no-backward"
_ASKS = frozenset({"isinstance", "hasattr", "is_tensor", "type"})


def findings(program: Program, cause: str) -> Iterator[Finding]:
    """Where a number that goes backward left torch, for the cuts of one cause."""
    seen: set[int] = set()
    for event in program.each("number-backward"):
        found = next((s for s in stations([event.flow]) if s.flow.kind == "cut"), None) if event.flow else None
        if found is None or found.flow.cause != cause or id(found.flow.at) in seen or _is_asked(program, event):
            continue
        seen.add(id(found.flow.at))
        told, here = of_cut(program, found), Place(event.at, event.frame)
        loss = Code(program.text(lost.loss_node(event)))
        error: dict[str, Argument] = {
            "error": "AttributeError",
            "text": "'float' object has no attribute 'backward'",
            "loss": loss,
        }
        yield program.finding(
            cause,
            told.place,
            Message(f"{SYMPTOM}.headline", {"loss": loss, "subject": Code(program.text(told.place.node))}),
            symptom=SYMPTOM,
            surfaces=here,
            path=[*told.steps, program.step(here, Message(f"{SYMPTOM}.surfaces", error))],
            fixes=lost.fixes(program, told),
        )


def _is_asked(program: Program, event: Event) -> bool:
    """Whether the program looks first whether it is a tensor, or is ready for the exception."""
    return any(
        isinstance(outer, ast.Try)
        or (
            isinstance(outer, (ast.If, ast.IfExp, ast.BoolOp, ast.While))
            and any(isinstance(n, ast.Call) and called(n) in _ASKS for n in ast.walk(_test(outer)))
        )
        for outer, _ in outwards(program, event)
    )


def _test(outer: ast.AST) -> ast.AST:
    return outer.test if isinstance(outer, (ast.If, ast.IfExp, ast.While)) else outer
