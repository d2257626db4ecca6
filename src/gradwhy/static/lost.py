"""Losses without a gradient path, as findings; the rules of the causes only name theirs."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace

from gradwhy.catalog import render
from gradwhy.findings import Code, Evidence, Finding, Fix, Message
from gradwhy.static import remedy
from gradwhy.static.blame import Blame, blame
from gradwhy.static.flow.frames import Event
from gradwhy.static.flow.histories import MAYBE, NO, YES, Flow
from gradwhy.static.program import Place, Program

SYMPTOM = "no-graph"
ERROR = "element 0 of tensors does not require grad and does not have a grad_fn"


def findings(program: Program, cause: str) -> Iterator[Finding]:
    """The findings of one cause among the losses that have no path."""
    for event, found in explained(program):
        if found.cause == cause:
            yield tell(program, event, found)


def explained(program: Program) -> list[tuple[Event, Blame]]:
    """Each failing call with its explanation, one for each place to change."""
    known = program.__dict__.get("_lost")
    if known is None:
        known = program.__dict__["_lost"] = list(_explain(program))
    return known


def _explain(program: Program) -> Iterator[tuple[Event, Blame]]:
    places: set[tuple[str, str, int]] = set()
    for event in program.each("backward", "grad"):
        starts: tuple[Flow, ...] = event.facts["flows"]
        lost = [flow for flow in starts if flow.grad == NO]
        likely = not lost and program.strict
        if likely:
            lost = [part for flow in starts for part in _on_some_path(flow)]
        elif event.kind == "backward" and len(lost) < len(starts):
            continue
        if not lost:
            continue
        found = blame(program, event, lost)
        if found is not None and likely:
            found = replace(found, certain=False)
        if found is None or (key := (found.cause, *program.line_of(found.place))) in places:
            continue
        places.add(key)
        yield event, found


def _on_some_path(flow: Flow, depth: int = 12) -> Iterator[Flow]:
    """The histories without a path that a loss may have, where it may also have one."""
    if flow.grad != MAYBE or depth == 0:
        return
    if flow.kind == "join":
        if any(part.grad == YES for part in flow.inputs):
            yield from (part for part in flow.inputs if part.grad == NO and part.kind in ("cut", "off", "op"))
        for part in flow.inputs:
            yield from _on_some_path(part, depth - 1)
    elif flow.kind == "op" and len(flow.inputs) == 1:
        yield from _on_some_path(flow.inputs[0], depth - 1)


def loss_node(event: Event) -> ast.AST:
    """The expression of what goes backward: ``loss`` in ``loss.backward()``."""
    call = event.at
    if isinstance(call, ast.Call):
        if event.kind == "grad" or (isinstance(call.func, ast.Attribute) and call.args and event.facts.get("given")):
            return next(iter(call.args), call)
        if isinstance(call.func, ast.Attribute):
            return call.func.value
    return call


def tell(program: Program, event: Event, found: Blame, symptom: str = SYMPTOM) -> Finding:
    loss = program.text(loss_node(event))
    surfaces = Place(event.at, event.frame)
    own = f"{found.cause}.headline"
    message = Message(own if render.has_sentence(own) else f"{symptom}.headline",
                      {"loss": Code(loss), "subject": Code(program.text(found.place.node))})  # fmt: skip
    last = Message(f"{symptom}.surfaces", {"error": "RuntimeError", "text": ERROR, "loss": Code(loss)})
    return program.finding(
        found.cause,
        found.place,
        message,
        symptom=symptom,
        surfaces=surfaces,
        path=[*found.steps, program.step(surfaces, last)],
        fixes=fixes(program, found),
        evidence=evidence(program, found.cut),
        likely=not found.certain and event.flow is not None and event.flow.grad == MAYBE,
    )


def evidence(program: Program, cut: Flow | None) -> Iterable[Evidence]:
    """What the source shows of the cut's input."""
    if cut is None:
        return
    before = next((flow for flow in cut.inputs if flow.grad == YES and flow.at is not None), None)
    if before is not None and before.at is not None:
        yield Evidence(
            kind="source", subject=program.text(before.at)[:80], facts={"requires_grad": True}, observed=False
        )


def fixes(program: Program, found: Blame) -> Iterable[Fix]:
    """The remedies that fit, else the catalogue's advice."""
    node = found.place.node
    parent = program.source_of(node).parents.get(node)
    decorator = isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)) and node in parent.decorator_list
    fault = remedy.Fault(
        cause=found.cause,
        file=program.file_of(node),
        source=program.source_of(node),
        node=node,
        is_decorator=decorator,
        returned=False,
    )
    offered = [fix for fix in remedy.fixes(fault) if found.cause not in ("frozen-all",)]
    operation = found.steps[-1].note.args.get("op", "") if found.steps and found.steps[-1].note else ""
    return [*offered, remedy.advice(found.cause, op=str(operation))]
