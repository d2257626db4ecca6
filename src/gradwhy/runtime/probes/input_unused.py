"""``appears to not have been used in the graph``: which entry of ``inputs`` the outputs do not depend on, and why."""

from __future__ import annotations

import ast
import re
from typing import Any

import torch

from gradwhy.findings import Finding, Message, Step
from gradwhy.runtime import account, feeding, graph, verdict
from gradwhy.runtime.account import Place
from gradwhy.runtime.entries import Entry, entries
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.journal import FlagChange
from gradwhy.runtime.lifetime import made
from gradwhy.runtime.node_lines import Made
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.records import Record, node_of
from gradwhy.runtime.sites import located

SYMPTOM = "input-unused"
_MESSAGE = re.compile(r"(?:differentiated Tensors? .*)appears? to not have been used in the graph", re.S)


def matches(failure: Failure) -> bool:
    return isinstance(failure.error, RuntimeError) and _MESSAGE.search(failure.text) is not None


def diagnose(situation: Situation) -> list[Finding]:
    walk = graph.nodes(situation.failure.differentiated() or [])
    unused = [entry for entry in entries(situation) if not _is_reached(entry.tensor, walk)]
    return [_finding(unused[0], len(unused), walk, situation)] if unused else []


def _is_reached(tensor: Any, walk: dict[Any, list[Any]]) -> bool:
    node = node_of(tensor)
    if node is not None:
        return node in walk
    return any(graph.variable_of(each) is tensor for each in walk)


def _finding(entry: Entry, unused: int, walk: dict[Any, list[Any]], situation: Situation) -> Finding:
    newest = max(map(graph.number_of, walk), default=-1)
    facts = entry.facts() | {"count": unused}
    asked = Step(at=entry.at, note=Message("input-unused.asked", facts))
    evidence = [account.seen(entry.text, entry.tensor)]
    own = node_of(entry.tensor)
    origin = made(own, situation.watch.recorder) if own is not None else None
    if own is not None and (graph.number_of(own) > newest or _is_repeated(own, origin, walk, situation)):
        place = Place.of(origin.outside_forward()) if origin is not None else Place(entry.at, entry.text)
        return account.finding(
            situation,
            SYMPTOM,
            "wrong-list-entry",
            place.at,
            place.text,
            facts=facts,
            evidence=evidence,
            steps=[Step(at=place.at, note=Message("input-unused.made-after", facts)), asked],
        )
    flag = _flag(entry, situation)
    if flag is not None and flag.sequence > min(
        (graph.number_of(n) for n in walk if graph.number_of(n) >= 0), default=newest
    ):
        place = Place.of(flag.chain[0])
        used = _first_use(walk, situation)
        steps = [used] if used is not None else []
        return account.finding(
            situation,
            SYMPTOM,
            "requires-grad-late",
            place.at,
            place.text,
            headline="headline-entry",
            facts=facts,
            steps=[*steps, Step(at=place.at, note=Message("requires-grad-late.flagged")), asked],
            evidence=evidence,
            certain=flag.sequence > newest,
        )
    if flag is None and own is None and not situation.watch.recorder.operations:
        late = _flag_in_source(entry, situation)
        if late is not None:
            return account.finding(
                situation,
                SYMPTOM,
                "requires-grad-late",
                late.at,
                late.text,
                headline="headline-entry",
                facts=facts,
                steps=[Step(at=late.at, note=Message("requires-grad-late.flagged")), asked],
                evidence=evidence,
                certain=False,
            )
    cut = _cut(entry, walk, situation)
    found = verdict.of_cut(cut, situation.watch.journal) if cut is not None else None
    if cut is not None and found is not None:
        lost = Step(at=found.at, note=Message("input-unused.lost", facts))
        return account.finding(
            situation,
            SYMPTOM,
            found.cause,
            found.at,
            found.subject,
            headline="headline-entry",
            advice="advice-entry",
            facts=facts,
            steps=[lost, asked],
            evidence=evidence,
            certain=False,
        )
    cause = "module-unused" if id(entry.tensor) in situation.names.parameters else "wrong-list-entry"
    return account.finding(
        situation,
        SYMPTOM,
        cause,
        entry.at,
        entry.text,
        headline="headline-unused",
        advice="advice-unused",
        facts=facts,
        evidence=evidence,
        steps=[asked],
        certain=False,
    )


def _is_repeated(own: Any, origin: Made | None, walk: dict[Any, list[Any]], situation: Situation) -> bool:
    """Whether the outputs depend on an earlier result of the line that made the entry: of another pass, another turn."""
    earlier = [made(node, situation.watch.recorder) for node in walk if graph.number_of(node) < graph.number_of(own)]
    return origin is not None and any(each is not None and each.site == origin.site for each in earlier)


def _flag(entry: Entry, situation: Situation) -> FlagChange | None:
    changes = [
        c for c in situation.watch.journal.flags.values() if c.value and id(entry.tensor) in c.tensors and c.chain
    ]
    return max(changes, key=lambda change: change.order, default=None)


def _flag_in_source(entry: Entry, situation: Situation) -> Place | None:
    """``x.requires_grad_()`` or ``x.requires_grad = True`` for the entry's name in the failing function."""
    surface = situation.failure.surface
    source = surface.site.source if surface is not None else None
    node = surface.site.node() if surface is not None else None
    scope = (source.function(node) or source.tree) if source is not None and node is not None else None
    for inner in ast.walk(scope) if scope is not None and source is not None else ():
        flagged: ast.AST | None = None
        if isinstance(inner, ast.Call) and account.called(inner) == "requires_grad_":
            flagged = inner.func.value if isinstance(inner.func, ast.Attribute) else None
        elif isinstance(inner, ast.Assign):
            parts = [t for t in inner.targets if isinstance(t, ast.Attribute) and t.attr == "requires_grad"]
            flagged = parts[0].value if parts else None
        if flagged is not None and source is not None and source.segment(flagged) == entry.text:
            return Place(located(source, inner), source.segment(inner))
    return None


def _first_use(walk: dict[Any, list[Any]], situation: Situation) -> Step | None:
    """The line that the outputs came from: the newest operation before the flag would be too late already."""
    newest = max((node for node in walk if graph.number_of(node) >= 0), key=graph.number_of, default=None)
    origin = made(newest, situation.watch.recorder) if newest is not None else None
    return account.station(origin.outside_forward(), Message("input-unused.computed")) if origin is not None else None


def _cut(entry: Entry, walk: dict[Any, list[Any]], situation: Situation) -> Record | None:
    """The last operation that took what depends on the entry and gave a result without a path, which the outputs were then
    computed from. A gradient without a graph of its own comes first: it was asked for to be differentiated."""
    recorder = situation.watch.recorder
    lines = [found.site for node in walk if (found := made(node, recorder)) is not None]
    fitting = [r for r in reversed(recorder.cuts) if _took(r, entry) and feeding.feeds(r, lines)]
    return min(fitting, key=lambda r: r.func is not torch.autograd.grad, default=None)


def _took(record: Record, entry: Entry) -> bool:
    leaves = (
        {id(leaf) for leaf in graph.leaves(entry.tensor)} if node_of(entry.tensor) is not None else {id(entry.tensor)}
    )
    for given in record.inputs:
        tensor = given.reference() if given.reference is not None else None
        if tensor is entry.tensor or leaves & set(given.leaves):
            return True
    return False
