"""``requires_grad`` refused: on a computed tensor, on integers. Where the tensor became what it is."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import torch

from gradwhy.findings import Argument, Code, Finding, Fix, Message, Step
from gradwhy.runtime import account, live, verdict
from gradwhy.runtime.account import Place
from gradwhy.runtime.failure import Failure, LiveFrame
from gradwhy.runtime.lifetime import made
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.records import node_of

SYMPTOM = "requires-grad-non-leaf"
_NON_LEAF = "you can only change requires_grad flags of leaf variables"
_DTYPE = (
    "nly Tensors of floating point and complex dtype can require gradients",
    "nly Tensors of floating point dtype can require gradients",
)


def matches(failure: Failure) -> bool:
    return isinstance(failure.error, RuntimeError) and (_NON_LEAF in failure.text or _is_of_dtype(failure))


def _is_of_dtype(failure: Failure) -> bool:
    return any(text in failure.text for text in _DTYPE)


def symptom(failure: Failure) -> str:
    """Two messages of one kind have an entry each."""
    return "dtype-no-grad" if _is_of_dtype(failure) else SYMPTOM


def diagnose(situation: Situation) -> list[Finding]:
    surface = situation.failure.surface
    if surface is None:
        return []
    name, tensor = flagged(surface, situation.failure)
    if _is_of_dtype(situation.failure):
        return [_integer(name, tensor, surface, situation)]
    return [_computed(name, tensor, surface, situation)]


def _computed(name: str, tensor: Any, surface: LiveFrame, situation: Situation) -> Finding:
    facts: dict[str, Argument] = {"name": Code(name or "the tensor")}
    steps, evidence = [], []
    node = node_of(tensor) if tensor is not None else None
    origin = made(node, situation.watch.recorder) if node is not None else None
    if origin is not None:
        steps.append(account.station(origin.site, Message("flag-on-non-leaf.made", facts)))
    if tensor is not None and node is not None:
        evidence.append(account.seen(name, tensor, is_leaf=False))
    place = Place.of(surface.site)
    steps.append(Step(at=place.at, note=Message("flag-on-non-leaf.flagged", facts)))
    return account.finding(
        situation, SYMPTOM, "flag-on-non-leaf", place.at, place.text, facts=facts, steps=steps, evidence=evidence
    )


def _integer(name: str, tensor: Any, surface: LiveFrame, situation: Situation) -> Finding:
    dtype = str(tensor.dtype).removeprefix("torch.") if tensor is not None else "an integer type"
    facts: dict[str, Argument] = {"name": Code(name or "the tensor"), "dtype": dtype}
    evidence = []
    if tensor is not None:
        evidence.append(account.seen(name, tensor))
    cause, place, certain = "integer-tensor", Place.of(surface.site), True
    record = situation.watch.recorder.record_of(tensor) if tensor is not None else None
    while record is not None and record.site is not None:
        found = verdict.of_cut(record, situation.watch.journal) if record.is_cut else None
        if found is not None:
            cause, place = found.cause, Place(found.at, found.subject)
            break
        name_of = getattr(record.func, "__name__", "")
        if name_of in _CASTS:
            cause, place = "integer-cast", Place.of(record.site)
            break
        place = Place.of(record.site)
        if cast := _cast_in(record.site):
            cause = cast
            break
        floating = [
            p for _, p in record.parents if p.func is not None and p.dtype.startswith(("torch.float", "torch.bfloat"))
        ]
        record = next((p for _, p in record.parents if p.func is not None), None) if not floating else None
    else:
        if record is None and tensor is not None and situation.watch.recorder.record_of(tensor) is None:
            place, certain = account.binding(name, situation) or place, tensor is not None
    steps = [Step(at=place.at, note=Message("integer-tensor.made", facts))]
    told = account.finding(
        situation,
        symptom(situation.failure),
        cause,
        place.at,
        place.text,
        headline="headline-integer",
        advice="advice-integer",
        facts=facts,
        steps=steps,
        evidence=evidence,
        certain=certain,
    )
    # What made the integers is another cause's matter; that they are integers is said in the same words.
    message = Message("integer-tensor.headline-integer", told.message.args)
    fixes = (Fix(title=Message("integer-tensor.advice-integer", told.message.args), applicability="display"),)
    return replace(told, message=message, fixes=fixes)


_CASTS = frozenset({"long", "int", "byte", "short", "char", "bool"})


def _cast_in(site: Any) -> str:
    """The integer cast at the end of a chain of calls on one line."""
    node = site.node()
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in _CASTS:
            return "integer-cast"
        node = node.func.value
    return ""


def flagged(surface: LiveFrame, failure: Failure) -> tuple[str, Any]:
    """(the user's name, tensor) of what a line sets ``requires_grad`` on, or makes a Parameter of."""
    source, node = surface.site.source, surface.site.node()
    statement = account.statement_of(surface.site)
    candidates: list[ast.AST] = []
    if isinstance(node, ast.Call):
        candidates += [node.func.value] if isinstance(node.func, ast.Attribute) else []
        candidates += [*node.args, *(k.value for k in node.keywords if k.arg == "data")]
    if isinstance(statement, ast.Assign):
        candidates += [t.value for t in statement.targets if isinstance(t, ast.Attribute)]
    for candidate in candidates:
        found = live.value(candidate, surface)
        if issubclass(type(found), torch.Tensor) and source is not None:
            return source.segment(candidate), found
    inner = next(live.library_tensors(failure), None)
    text = next((source.segment(c) for c in candidates if source is not None and not isinstance(c, ast.Name)), "")
    return text or account.receiver(surface.site), inner
