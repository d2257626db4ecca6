"""Tensors made in inference mode that autograd is to work with: which one, and the block that made it."""

from __future__ import annotations

import ast
from typing import Any

from gradwhy.findings import Argument, Code, Finding, Message, Step
from gradwhy.runtime import account, live, verdict
from gradwhy.runtime.account import Place
from gradwhy.runtime.failure import Failure, LiveFrame
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.records import Record
from gradwhy.runtime.remedying import written_stack
from gradwhy.runtime.sites import located
from gradwhy.source.slicing import dotted_name
from gradwhy.torchapi import hosts

SYMPTOM = "inference-tensor"
CAUSE = "inference_mode-context"
_MESSAGES = (
    "Inference tensors cannot be saved for backward",
    "Inplace update to inference tensor outside InferenceMode is not allowed",
    "Inference tensors do not track version counter",
    "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed",
)


def matches(failure: Failure) -> bool:
    return isinstance(failure.error, RuntimeError) and any(text in failure.text for text in _MESSAGES)


def diagnose(situation: Situation) -> list[Finding]:
    surface = situation.failure.surface
    if surface is None:
        return []
    name, tensor = _found(surface, situation)
    record = situation.watch.recorder.record_of(tensor) if tensor is not None else None
    opened = (
        verdict.of_scope(record.scope, record.site, record.chain)
        if record is not None and record.scope is not None
        else None
    )
    certain = opened is not None and opened.cause == CAUSE
    place = Place(opened.at, opened.subject) if opened is not None and certain else _only_block(surface)
    if place is None:
        return []
    facts: dict[str, Argument] = {"name": Code(name or "a tensor")}
    steps = [Step(at=place.at, note=Message(f"{CAUSE}.opened"))]
    if record is not None and record.site is not None:
        steps.append(account.station(record.site, Message(f"{CAUSE}.made", facts)))
    steps.append(Step(at=surface.site.location(), note=Message(f"{CAUSE}.used", facts)))
    evidence = []
    if tensor is not None:
        evidence.append(account.seen(name, tensor, is_inference=True))
    return [
        account.finding(
            situation,
            SYMPTOM,
            CAUSE,
            place.at,
            place.text,
            headline="headline-inference",
            advice=_advice(record),
            facts=facts,
            steps=steps,
            evidence=evidence,
            certain=certain,
        )
    ]


def _advice(record: Record | None) -> str:
    """The option of the trainer that made it, where one did."""
    stacks = verdict.stacks_of(record, record.scope) if record is not None else ()
    host = hosts.advice(CAUSE, map(written_stack, stacks))
    return f"advice-{host}-tensor" if host else "advice-inference"


def _found(surface: LiveFrame, situation: Situation) -> tuple[str, Any]:
    """An inference tensor that the failing line uses: by the user's name, else from torch's own frames, else a parameter or
    buffer of a module in sight."""
    for name, tensor in live.operands(surface):
        if tensor.is_inference():
            return name, tensor
    for tensor in live.library_tensors(situation.failure):
        if tensor.is_inference():
            return situation.names.of_memory(tensor) or "a tensor", tensor
    return next(((name, tensor) for name, tensor in situation.names.tensors() if tensor.is_inference()), ("", None))


def _only_block(surface: LiveFrame) -> Place | None:
    """The one place in the failing file that turns inference mode on."""
    source = surface.site.source
    if source is None or source.tree is None:
        return None
    found = [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, (ast.Name, ast.Attribute))
        and dotted_name(node).rpartition(".")[2] == "inference_mode"
        and not isinstance(source.parents.get(node), (ast.Attribute, ast.alias))
    ]
    outer = [source.parents.get(node) for node in found]
    nodes: list[ast.AST] = [
        call if isinstance(call, ast.Call) and call.func is node else node for node, call in zip(found, outer)
    ]
    return Place(located(source, nodes[0]), source.segment(nodes[0])) if len(nodes) == 1 else None
