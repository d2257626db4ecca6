"""``Found dtype Long but expected Float``: which target has another dtype than the output, and since where."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from gradwhy.findings import Argument, Code, Finding, Message, Step
from gradwhy.runtime import account, graph
from gradwhy.runtime.account import Place
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.lifetime import made
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.records import Record
from gradwhy.runtime.sites import Site
from gradwhy.runtime.writes import memory_key

SYMPTOM = "grad-dtype"
CAUSE = "target-dtype"
_MESSAGE = re.compile(r"Found dtype (?P<got>\w+) but expected (?P<want>\w+)")
# What C++ calls the types (c10/core/ScalarType.h), where that isn't the name in Python.
_NAMES = {"Byte": "uint8", "Char": "int8", "Short": "int16", "Int": "int32", "Long": "int64", "Half": "float16",
          "Float": "float32", "Double": "float64", "ComplexFloat": "complex64", "ComplexDouble": "complex128"}  # fmt: skip


def matches(failure: Failure) -> bool:
    return isinstance(failure.error, RuntimeError) and _MESSAGE.search(failure.text) is not None


def diagnose(situation: Situation) -> list[Finding]:
    found, surface = _MESSAGE.search(situation.failure.text), situation.failure.surface
    if found is None or surface is None:
        return []
    got, want = (f"torch.{_NAMES.get(found[key], found[key].lower())}" for key in ("got", "want"))
    pair = _in_graph(got, want, situation) or _in_call(got, want, surface.site, situation)
    if pair is None:
        return []
    used = Place.of(pair.site)
    names = [situation.names.of_memory(each) for each in (pair.target, pair.output)]
    written = _written(pair.site)
    target_name = names[0] or (written[1] if len(written) > 1 else "the target")
    output_name = names[1] or (written[0] if written else "the output")
    record = _record(pair.target, situation)
    site = record.site if record is not None else None
    if site is not None and not isinstance(site.node(), ast.expr):
        # The line of a loop over a data loader: the labels come so from afar.
        site = None
    place = Place.of(site) if site is not None else used
    facts: dict[str, Argument] = {"target": Code(target_name), "output": Code(output_name)}
    facts |= {"got": str(pair.target.dtype), "want": str(pair.output.dtype)}
    steps = [Step(at=place.at, note=Message(f"{CAUSE}.made", facts))] if place.at != used.at else []
    return [
        account.finding(
            situation, SYMPTOM, CAUSE, place.at, place.text, facts=facts,
            steps=[*steps, Step(at=used.at, note=Message(f"{CAUSE}.used", facts))],
            evidence=[account.seen(target_name, pair.target), account.seen(output_name, pair.output)],
            certain=True,
        )
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pair:
    """The two tensors of a loss, and the line that computed it."""

    target: Any
    output: Any
    site: Site


def _in_graph(got: str, want: str, situation: Situation) -> Pair | None:
    """Refused in backward: the node that saved two tensors of just these dtypes."""
    for node in graph.nodes(situation.failure.differentiated() or []):
        kept = {each.name.removeprefix("_saved_"): each.tensor for each in graph.saved(node) if each.tensor is not None}
        origin = made(node, situation.watch.recorder)
        if origin is not None and (found := _pair(kept, got, want, origin.site)) is not None:
            return found
    return None


def _in_call(got: str, want: str, site: Site, situation: Situation) -> Pair | None:
    """Refused by the loss itself: what its function in torch was given."""
    for live in reversed(situation.failure.frames):
        if live.is_users:
            break
        held = {name: value for name, value in live.frame.f_locals.items() if issubclass(type(value), torch.Tensor)}
        if (found := _pair(held, got, want, site)) is not None:
            return found
    return None


def _pair(tensors: Mapping[str, Any], got: str, want: str, site: Site) -> Pair | None:
    """The target is what is called so, else the tensor that torch found to be of the wrong dtype."""
    named = {name: tensor for name, tensor in tensors.items() if str(tensor.dtype) in (got, want)}
    target = named.get("target")
    if target is None:
        target = next((tensor for tensor in named.values() if str(tensor.dtype) == got), None)
    output = next((each for each in named.values() if target is not None and each.dtype != target.dtype), None)
    return Pair(target, output, site) if target is not None and output is not None else None


def _written(site: Site) -> list[str]:
    """The arguments of the call of the loss as they stand there, its output first."""
    call, source = account.call_at(site), site.source
    if call is None or source is None:
        return []
    given: dict[str, ast.expr] = {str(k.arg): k.value for k in call.keywords}
    parts = [*call.args, *(given[name] for name in ("input", "target") if name in given)]
    return [source.segment(part) for part in parts]


def _record(tensor: Any, situation: Situation) -> Record | None:
    """The first record of a tensor in the same memory and of the same dtype: where it was made, not where it was viewed."""
    key = memory_key(tensor)
    alike = [
        record
        for reference, record in list(situation.watch.recorder.records.values())
        if (held := reference()) is not None and held.dtype == tensor.dtype and key and memory_key(held) == key
    ]
    return min(alike, key=lambda record: record.order, default=None)
