"""``modified by an inplace operation``: what wrote into a value that a backward still needs, and what had saved it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from typing import Any

from gradwhy.findings import Argument, Code, Evidence, Finding, Message, Step
from gradwhy.runtime import account, carried, graph, written
from gradwhy.runtime.account import Place
from gradwhy.runtime.ancestry import torch_name
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.graph import Saved
from gradwhy.runtime.journal import OptimizerStep
from gradwhy.runtime.lifetime import made, tie
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.sites import Site
from gradwhy.runtime.ties import told
from gradwhy.runtime.writes import Write, memory_key
from gradwhy.runtime.writing import switch

SYMPTOM = "inplace-saved"
_MESSAGE = "modified by an inplace operation"
_VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")


def matches(failure: Failure) -> bool:
    return isinstance(failure.error, RuntimeError) and _MESSAGE in failure.text


def diagnose(situation: Situation) -> list[Finding]:
    roots = situation.failure.differentiated() or []
    changed = _changed(roots, situation.failure)
    surface = situation.failure.surface
    if changed is None or surface is None:
        return []
    old = _of_an_earlier_graph(changed, roots, situation)
    if old:
        return old
    found = _VERSIONS.search(changed.text)
    now, expected = (int(found[1]), int(found[2])) if found else (-1, -1)
    write = _write(changed, expected, situation)
    if write is None:
        return _from_source(changed, situation)
    before = made(changed.node, situation.watch.recorder)
    name = _name(changed, write, situation)
    facts: dict[str, Argument] = {"name": Code(name), "op": _operation(changed.node)}
    steps: list[Step] = []
    if before is not None:
        steps.append(account.station(before.site, Message("inplace-op.saved", facts), torch_name(before.func)))
    tensor = changed.tensor
    shape = account.shape_of(tensor) if tensor is not None else ()
    evidence = [
        Evidence(kind="tensor", subject=name, facts={"shape": shape, "version": now, "expected version": expected}),
        Evidence(kind="graph", subject=changed.node.name(), facts={"saved": changed.name.removeprefix("_saved_")}),
    ]
    if isinstance(write, OptimizerStep):
        site = _own_step(write, situation)
        steps.append(account.station(write.chain[0], Message("weights-updated-before-backward.stepped", facts)))
        return [
            account.finding(
                situation,
                SYMPTOM,
                "weights-updated-before-backward",
                site.location(),
                account.expression(site),
                facts=facts,
                steps=steps,
                evidence=evidence,
            )
        ]
    place = _switch(write) or Place.of(write.site)
    steps.append(account.station(write.site, Message("inplace-op.written", facts), torch_name(write.func)))
    return [
        account.finding(
            situation, SYMPTOM, "inplace-op", place.at, place.text, facts=facts, steps=steps, evidence=evidence
        )
    ]


def _changed(roots: Iterable[Any], failure: Failure) -> Saved | None:
    """The saved value that the pass stumbled over: of those that changed, the one that torch's message describes."""
    found = [each for node in graph.nodes(roots) for each in graph.saved(node) if each.state == "changed"]
    named = [each for each in found if each.text.partition(" Hint")[0] == failure.text.partition(" Hint")[0]]
    return max(named or found, key=lambda each: graph.number_of(each.node), default=None)


def _of_an_earlier_graph(changed: Saved, roots: Sequence[Any], situation: Situation) -> list[Finding]:
    """Where the value was saved by a graph that an earlier pass went through and kept, it should not be reached at all.

    Unless one forward pass is meant for several backward passes, of which this is not the same line again: then what wrote in
    between came too early.
    """
    if not _went_before(changed, situation):
        return []
    found = tie(roots, [changed.node], situation)
    return told(found, roots, situation, SYMPTOM) if found is not None and found.crosses else []


def _went_before(changed: Saved, situation: Situation) -> bool:
    """Whether the failing line has gone backward since the value was saved, or it isn't known."""
    passes, surface = situation.watch.journal.passes, situation.failure.surface
    if surface is None or not passes:
        return True
    number = graph.number_of(changed.node)
    since = [each.chain[0] for each in passes if each.sequence > number and each.chain]
    return any((site.file, site.line) == (surface.site.file, surface.site.line) for site in since) or not since


def _write(changed: Saved, expected: int, situation: Situation) -> Write | OptimizerStep | None:
    """The first write after the value was saved: a line of the program, or an optimizer's step."""
    tensor, number = changed.tensor, graph.number_of(changed.node)
    if tensor is None:
        return None
    writes = situation.watch.recorder.writes.to(tensor, above=expected, since=number)
    key = memory_key(tensor)
    steps = [
        step for step in situation.watch.journal.stepped if step.sequence > number and step.chain and step.holds(key)
    ]
    if writes and (not steps or writes[0].sequence <= steps[0].sequence):
        # Where a step was given a closure, its own writes are on record as well, at the line that calls it.
        return next((step for step in steps if step.chain[0] == writes[0].site), writes[0])
    return steps[0] if steps else None


def _own_step(step: OptimizerStep, situation: Situation) -> Site:
    """The line of a step that is not that of the failing pass: of a helper that both went through, the call for the step."""
    failing = [(live.site.code, live.site.line) for live in reversed(situation.failure.user_frames)]
    chain = [(site.code, site.line) for site in step.chain]
    for depth, ((code, _), other) in enumerate(zip(chain, failing)):
        around = zip(chain[depth + 1 :], failing[depth + 1 :])
        if code is not other[0] or all(mine == its for mine, its in around):
            return step.chain[depth]
    return step.chain[0]


def _from_source(changed: Saved, situation: Situation) -> list[Finding]:
    """The one line that can have written, where no write is on record: an optimizer's step, or an in-place operation."""
    if changed.tensor is None:
        return []
    name = situation.names.of_memory(changed.tensor)
    facts: dict[str, Argument] = {"name": Code(name or "the value"), "op": _operation(changed.node)}
    steps = written.steps(changed.tensor, situation)
    if steps:
        old = carried.explain(situation) if len(steps) == 1 else []
        states = [each for each in old if each.cause == "hidden-state-carried"]
        cause, place = (states[0].cause, states[0].place) if states else ("weights-updated-before-backward", steps[0])
    else:
        cause, places = "inplace-op", written.writes(name, situation)
        if not places or (len(places) > 1 and not name):
            return []
        place = places[0]
    return [account.finding(situation, SYMPTOM, cause, place.at, place.text, facts=facts, certain=False)]


def _name(changed: Saved, write: Write | OptimizerStep, situation: Situation) -> str:
    known = situation.names.of_memory(changed.tensor)
    if known or isinstance(write, OptimizerStep):
        return known or "the weight"
    call = account.call_at(write.site)
    source = write.site.source
    if call is None or source is None or not call.args or account.called(call).endswith("_"):
        return account.receiver(write.site) or account.expression(write.site)
    # A module or a function that writes to what it is given, or to what it has computed from that.
    given = source.segment(call.args[0])
    others = [name for name, tensor in situation.names.tensors() if memory_key(tensor) != memory_key(changed.tensor)]
    if isinstance(call.args[0], (ast.Name, ast.Attribute)) and given not in others:
        return given
    return f"{_operation(changed.node)}(…)" if changed.name.endswith("result") else given


def _operation(node: Any) -> str:
    """ "relu" of a ReluBackward0."""
    return re.sub(r"Backward\d*$", "", node.name()).rpartition("::")[2].lower() or "an operation"


def _switch(write: Write) -> Place | None:
    """Where a module wrote because it was made with ``inplace=True``: that place."""
    asked = "inplace" in getattr(getattr(write.func, "__code__", None), "co_varnames", ())
    return switch(write.site, getattr(write.func, "__name__", "")) if asked else None
