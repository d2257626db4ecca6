"""Gradients that are not finite: which operation's backward made the first NaN or Inf, and of which values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from types import FrameType
from typing import Any

import torch

from gradwhy.findings import Argument, Code, Evidence, Finding, Message, Step
from gradwhy.runtime import account, graph, nonfinite
from gradwhy.runtime.account import Place
from gradwhy.runtime.ancestry import torch_name
from gradwhy.runtime.failure import Failure, standing
from gradwhy.runtime.lifetime import made
from gradwhy.runtime.names import Names, attributes_of
from gradwhy.runtime.patches.nonfinite import Trouble
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.quoted import users_lines
from gradwhy.runtime.safe_arguments import fixes
from gradwhy.runtime.sites import Site
from gradwhy.runtime.watch import Watch

SYMPTOM = "nan-grad"
_ANOMALY = re.compile(r"Function '(?P<node>\w+)' returned nan values in its (?P<index>\d+)th output")
_CONSTRAINT = re.compile(r"^Expected parameter \w+ .*to satisfy the constraint .*found invalid values:", re.S)
_CLIPPED = re.compile(r"The total norm of order .* for gradients from `parameters` is non-finite")
# What an operation is suspected of by its name alone.
_SUSPECTED = {
    "Sqrt": "sqrt-of-zero", "Rsqrt": "sqrt-of-zero", "Pow": "sqrt-of-zero", "Norm": "sqrt-of-zero", "Std": "sqrt-of-zero",
    "LinalgVectorNorm": "sqrt-of-zero", "Log": "log-of-zero", "Log2": "log-of-zero", "Log10": "log-of-zero",
    "Log1p": "log-of-zero", "Div": "division-by-zero", "Reciprocal": "division-by-zero", "Acos": "out-of-domain",
    "Asin": "out-of-domain", "Acosh": "out-of-domain", "Atanh": "out-of-domain", "Exp": "overflow",
    "Softmax": "all-masked-row", "LogSoftmax": "all-masked-row",
}  # fmt: skip
_RISKY = {
    "sqrt": "sqrt-of-zero", "rsqrt": "sqrt-of-zero", "log": "log-of-zero", "log2": "log-of-zero", "log10": "log-of-zero",
    "reciprocal": "division-by-zero", "acos": "out-of-domain", "asin": "out-of-domain", "acosh": "out-of-domain",
    "atanh": "out-of-domain",
}  # fmt: skip


def matches(failure: Failure) -> bool:
    if isinstance(failure.error, RuntimeError):
        return _ANOMALY.search(failure.text) is not None or _CLIPPED.search(failure.text) is not None
    return (
        isinstance(failure.error, ValueError) and "nan" in failure.text and _CONSTRAINT.search(failure.text) is not None
    )


def diagnose(situation: Situation) -> list[Finding]:
    watch = situation.watch
    found = [finding for finding in watch.silent if finding.symptom == SYMPTOM]
    if found:
        # Seen in an earlier pass: what failed follows from that.
        watch.silent = [finding for finding in watch.silent if finding.symptom != SYMPTOM]
        surface = situation.failure.surface
        at = surface.site.location() if surface is not None else found[0].surfaces_at
        return [replace(finding, surfaces_at=at) for finding in found]
    said = _ANOMALY.search(situation.failure.text)
    if _CLIPPED.search(situation.failure.text):
        return _clipped(situation)
    if said is None:
        return _constraint(situation)
    if watch.trouble is not None:
        return _told(watch.trouble, (), situation)
    return _anomaly(said["node"], situation)


def look(trouble: Trouble, reached: Sequence[int], frame: FrameType, watch: Watch) -> list[Finding]:
    """The finding for a pass that left gradients which are not finite, although nothing was raised."""
    with standing(frame) as failure:
        situation = Situation(failure, watch, Names(failure.frames))
        if failure.surface is None or (trouble.cause == "overflow" and _is_scaled(situation)):
            return []
        return _told(trouble, reached, situation)


def _told(trouble: Trouble, reached: Sequence[int], situation: Situation) -> list[Finding]:
    origin = trouble.reason or trouble.made
    surface = situation.failure.surface
    if origin is None or surface is None:
        return []
    facts = _facts(trouble, reached, situation)
    steps = []
    if trouble.made is not None and trouble.made.site != origin.site:
        steps.append(
            account.station(trouble.made.site, Message("nan-grad.first", facts), torch_name(trouble.made.func))
        )
    place = Place.of(origin.site)
    if not steps:
        steps.append(Step(at=place.at, op=torch_name(origin.func), note=Message("nan-grad.first", facts)))
    else:
        steps.append(Step(at=place.at, op=torch_name(origin.func), note=Message(f"{trouble.cause}.here", facts)))
    if situation.failure.error is None:
        key = "after" if facts["name"] != Code("") else "after-unnamed"
        steps.append(Step(at=surface.site.location(), note=Message(f"nan-grad.{key}", facts)))
    evidence = [
        Evidence(kind="tensor", subject=place.text, facts={"count": trouble.count, "of": trouble.of, "dtype": trouble.dtype})
    ] if trouble.of else []  # fmt: skip
    headline = "headline-product" if trouble.product else "headline"
    return [
        account.finding(
            situation, SYMPTOM, trouble.cause, place.at, place.text, facts=facts, headline=headline, steps=steps,
            evidence=evidence, fixes=None if trouble.product else fixes(trouble.cause, trouble.dtype, origin.site),
        )
    ]  # fmt: skip


def _facts(trouble: Trouble, reached: Sequence[int], situation: Situation) -> dict[str, Argument]:
    names = [situation.names.parameters[key] for key in reached if key in situation.names.parameters]
    names += [name for name, tensor in situation.names.tensors() if id(tensor) in reached] if not names else []
    return {
        "name": Code(names[0] if names else ""),
        "parameters": len(reached),
        "count": trouble.count,
        "of": trouble.of,
        "op": Code(trouble.node),
        "kind": {"nan": "NaN", "inf": "Inf"}[trouble.kind],
        "dtype": trouble.dtype,
    }


def _is_scaled(situation: Situation) -> bool:
    """Whether a GradScaler is at work: it takes an overflow for what it is, and skips the step."""
    if not any(call.method == "scale" for call in situation.watch.scaling.calls):
        return False
    scalers = [
        held
        for live in situation.failure.user_frames
        for value in (*live.frame.f_locals.values(), *live.frame.f_globals.values())
        for held in (value, *(attributes_of(value) or {}).values())
        if issubclass(type(held), torch.amp.GradScaler)
    ]
    return not scalers or any(scaler.is_enabled() for scaler in scalers)


# -- errors that say it


def _anomaly(name: str, situation: Situation) -> list[Finding]:
    """The user's own ``detect_anomaly``: of the nodes of that name the last that ran, which let go of what it saved."""
    walk = graph.nodes(situation.failure.differentiated() or [])
    alike = [node for node in walk if node.name() == name]
    ran = [node for node in alike if graph.is_freed(node)] or alike
    if not ran:
        return []
    node = min(ran, key=graph.number_of)
    chosen = nonfinite.chosen(node, walk)
    place = _place(chosen if chosen is not None else node, situation)
    if place is None:
        return []
    cause = "where-nan" if chosen is not None else _SUSPECTED.get(nonfinite.name(node), "non-finite-gradient")
    facts: dict[str, Argument] = {
        "op": Code(nonfinite.shown(node)), "kind": "NaN", "count": 0, "of": 0, "dtype": "float32", "name": Code("grad"),
        "parameters": 0,
    }  # fmt: skip
    own = _place(node, situation)
    steps = [Step(at=own.at, note=Message("nan-grad.first", facts))] if own is not None else []
    if chosen is not None:
        steps.append(Step(at=place.at, note=Message("where-nan.here", facts)))
    return [account.finding(situation, SYMPTOM, cause, place.at, place.text, facts=facts, steps=steps, certain=False)]


def _place(node: Any, situation: Situation) -> Place | None:
    """The line of a node: from the record, else from the traceback that anomaly mode keeps with it."""
    origin = made(node, situation.watch.recorder)
    if origin is not None:
        return Place.of(origin.site)
    kept = node.metadata.get("traceback_") if isinstance(getattr(node, "metadata", None), dict) else None
    return next(users_lines("".join(kept)), None) if isinstance(kept, list) else None


def _constraint(situation: Situation) -> list[Finding]:
    """A distribution got NaN: weights that an earlier step made so, or an operation that gives it."""
    surface = situation.failure.surface
    if surface is None:
        return []
    # Not every weight is a module's.
    held = [tensor for record in situation.watch.journal.optimizers for tensor in record.parameters()]
    every = {id(each): each for each in (*situation.names.all_parameters(), *held)}
    weights = [each for each in every.values() if not nonfinite.is_finite(each)]
    names = [situation.names.parameters.get(id(each)) or situation.names.of_memory(each) for each in weights]
    facts: dict[str, Argument] = {"name": Code(names[0] if names else ""), "parameters": len(weights), "kind": "NaN"}
    risky = _risky(situation)
    if len(risky) == 1:
        site, cause = risky[0]
        filled = {**facts, "op": Code(""), "count": 0, "of": 0, "dtype": ""}
        place = Place.of(site)
        return [account.finding(situation, SYMPTOM, cause, place.at, place.text, facts=filled, certain=False)]
    place = Place.of(surface.site)
    if not weights:
        return [account.finding(situation, SYMPTOM, "non-finite-input", place.at, place.text, facts=facts)]
    return [account.finding(situation, SYMPTOM, "non-finite-weights", place.at, place.text, facts=facts, certain=False)]


def _clipped(situation: Situation) -> list[Finding]:
    """Gradients that are not finite are noticed when they are clipped: whose they are."""
    surface = situation.failure.surface
    given: list[Any] = [live.frame.f_locals.get("parameters") for live in situation.failure.frames if not live.is_users]
    lists = [held for held in given if type(held) in (list, tuple)]
    clipped = [each for held in lists for each in held if issubclass(type(each), torch.Tensor)]
    candidates = list(dict.fromkeys(clipped)) or list(situation.names.all_parameters())
    bad = [each for each in candidates if each.grad is not None and not nonfinite.is_finite(each.grad)]
    if surface is None or not bad:
        return []
    known = dict(situation.names.parameters) | {id(tensor): name for name, tensor in situation.names.tensors()}
    name = next((known[id(each)] for each in bad if id(each) in known), "a parameter")
    facts: dict[str, Argument] = {"name": Code(name), "parameters": len(bad)}
    scaled = bool(situation.watch.scaling.calls) and _is_scaled(situation)
    place = Place.of(surface.site)
    return [
        account.finding(
            situation, SYMPTOM, "non-finite-gradient", place.at, place.text, facts=facts, headline="headline-clipped",
            advice="advice-scaled" if scaled else "advice-clipped",
            evidence=[Evidence(kind="tensor", subject=f"{name}.grad", facts={"finite": False})],
        )
    ]  # fmt: skip


def _risky(situation: Situation) -> list[tuple[Site, str]]:
    """The lines on record that take a root, a logarithm or the like themselves, which have no finite slope somewhere."""
    found: dict[tuple[int, int], tuple[Site, str]] = {}
    for func, code, lasti in list(situation.watch.recorder.nodes.lines.values()):
        name = getattr(func, "__name__", "")
        cause = _RISKY.get(name)
        call = account.call_at(Site(code, lasti)) if cause is not None else None
        # A library that takes one on the way, as ``log_prob`` does, knows where it may.
        if cause is not None and (call is None or account.called(call) == name):
            found[id(code), lasti] = (Site(code, lasti), cause)
    return list(found.values())
