"""What a transformed function gave back: not one number, no tensor, or a tensor that can't have a gradient."""

from __future__ import annotations

import ast
from typing import Any

from gradwhy.findings import Argument, Code, Edit, Finding, Fix, Message, Step
from gradwhy.runtime import account, editing, transforms, verdict
from gradwhy.runtime.account import Place
from gradwhy.runtime.lifetime import made
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.probes.non_scalar import CAUSE as UNREDUCED
from gradwhy.runtime.probes.non_scalar import unreduced
from gradwhy.runtime.records import Record, node_of
from gradwhy.runtime.sites import located
from gradwhy.runtime.transformed import SYMPTOM, as_tensor, told
from gradwhy.source import text

_NUMBERS = (float, int, complex, bool)


def not_scalar(situation: Situation) -> list[Finding]:
    """The line that computed the value, where torch could number it, else what the function returns."""
    transform = _last(situation)
    if transform is None or transform.code is None:
        return []
    output = _first(transforms.value_in(transform, "output", "out", "outputs"))
    place = _where_computed(output, transform, situation)
    if place is None:
        return []
    facts: dict[str, Argument] = {"shape": str(account.shape_of(output)) if output is not None else ""}
    steps = [Step(at=place.at, note=Message("functorch.returned", facts))]
    asked = unreduced(place)
    if asked is not None:
        steps.insert(0, Step(at=asked.at, note=Message(f"{UNREDUCED}.asked")))
        fixes = _with_mean(asked, facts)
        return told(situation, UNREDUCED, asked, facts=facts, steps=steps, as_symptom="not-scalar", fixes=fixes)
    fixes = _with_sum(place, facts)
    return told(situation, UNREDUCED, place, facts=facts, steps=steps, as_symptom="not-scalar", fixes=fixes)


def _where_computed(output: Any, transform: transforms.Transform, situation: Situation) -> Place | None:
    """The line of the transformed function itself that the value came from, else its last ``return``."""
    node = node_of(output) if output is not None else None
    origin = made(node, situation.watch.recorder) if node is not None else None
    for site in (origin.site, *origin.chain) if origin is not None else ():
        if site.code is transform.code:
            return Place.of(site)
    return next(reversed(list(transforms.returned(transform.code))), None) if transform.code is not None else None


def _with_sum(place: Place, facts: dict[str, Argument]) -> tuple[Fix, ...] | None:
    """``f(x).sum()`` where the place is the whole value that the function gives back."""
    source = text.read(place.at.file)
    value = _whole_value(source, place) if source is not None else None
    if source is None or value is None:
        return None
    new = editing.operand(source, value) + ".sum()"
    return _reduced(editing.instead(source, value, new), new, facts)


def _with_mean(asked: Place, facts: dict[str, Argument]) -> tuple[Fix, ...] | None:
    """``reduction="mean"`` for "none"."""
    source = text.read(asked.at.file)
    for node in ast.walk(source.tree) if source is not None and source.tree is not None else ():
        if isinstance(node, ast.Call) and source is not None and located(source, node) == asked.at:
            for keyword in node.keywords:
                if keyword.arg == "reduction":
                    return _reduced(editing.instead(source, keyword.value, '"mean"'), 'reduction="mean"', facts)
    return None


def _reduced(edit: Edit, result: str, facts: dict[str, Argument]) -> tuple[Fix, ...]:
    title = Message(f"{SYMPTOM}.not-scalar-fix", {**facts, "result": Code(result)})
    return (Fix(title=title, applicability="unsafe", edits=(edit,)),)


def _as_tensor(place: Place) -> tuple[Fix, ...] | None:
    source = text.read(place.at.file)
    value = _whole_value(source, place) if source is not None else None
    tensor = as_tensor(value) if value is not None else None
    if source is None or value is None or tensor is None:
        return None
    new = source.segment(tensor)
    title = Message(f"{SYMPTOM}.item-fix", {"result": Code(new)})
    return (Fix(title=title, applicability="safe", edits=(editing.instead(source, value, new),)),)


def _whole_value(source: text.SourceText, place: Place) -> ast.expr | None:
    """The returned value that stands at a place."""
    for node in ast.walk(source.tree) if source.tree is not None else ():
        value = node.value if isinstance(node, ast.Return) else node.body if isinstance(node, ast.Lambda) else None
        if value is not None and source.span(value).line == place.at.line:
            if (source.span(value).column, source.span(value).end_column) == (place.at.column, place.at.end_column):
                return value
    return None


def not_tensor(situation: Situation) -> list[Finding]:
    """A Python number has left torch; a tuple wants ``has_aux=True``."""
    transform = _last(situation)
    if transform is None or transform.code is None:
        return []
    values = list(transforms.returned(transform.code))
    kind = situation.failure.text.rpartition("<class '")[2].rstrip("'>.")
    if kind in ("tuple", "list", "dict"):
        place = transform.made(situation) or transform.call
        steps = [Step(at=value.at, note=Message("has_aux-missing.returned")) for value in values[:1]]
        return told(situation, "has_aux-missing", place, steps=steps)
    if kind in [number.__name__ for number in _NUMBERS] and values:
        return told(situation, "item", values[-1], as_symptom="number-returned", fixes=_as_tensor(values[-1]))
    return []


def not_floating(situation: Situation) -> list[Finding]:
    transform = _last(situation)
    output = (
        _first(transforms.value_in(transform, "primals_out", "output", "outputs")) if transform is not None else None
    )
    record = situation.watch.recorder.record_of(output) if output is not None else None
    cut = _cut_behind(record) if record is not None else None
    found = verdict.of_cut(cut, situation.watch.journal) if cut is not None else None
    if found is not None:
        facts: dict[str, Argument] = {"name": Code(transform.call.text if transform is not None else "")}
        return told(situation, found.cause, Place(found.at, found.subject), as_symptom="no-gradient", facts=facts)
    values = list(transforms.returned(transform.code)) if transform is not None and transform.code is not None else []
    facts = {"name": Code(values[-1].text if values else "")}
    return (
        told(situation, "not-differentiable", values[-1], as_symptom="no-gradient", facts=facts, certain=False)
        if values
        else []
    )


def _cut_behind(record: Record) -> Record | None:
    """The nearest operation that lost the path."""
    queue, seen = [record], {id(record)}
    while queue and len(seen) < 10_000:
        current = queue.pop(0)
        if current.is_cut:
            return current
        for _, parent in current.parents:
            if id(parent) not in seen:
                seen.add(id(parent))
                queue.append(parent)
    return None


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, (tuple, list)) and value else value


def _last(situation: Situation) -> transforms.Transform | None:
    found = transforms.transforms(situation.failure)
    return found[-1] if found else None
