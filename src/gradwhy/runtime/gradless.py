"""Why no parameter of an optimizer has a gradient: cleared too early, frozen, replaced, cut off, or not part of the loss."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from gradwhy.findings import Argument, Code, Message, Step
from gradwhy.runtime import account, feeding, graph, verdict
from gradwhy.runtime.account import Place
from gradwhy.runtime.journal import BackwardPass, FlagChange
from gradwhy.runtime.patches.scaling import ScalerCall
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.records import Record, node_of
from gradwhy.runtime.sites import located
from gradwhy.source.slicing import bound_names


@dataclass(frozen=True, slots=True)
class Gradless:
    """``key`` chooses the sentences of the cause."""

    cause: str
    place: Place
    key: str = ""
    facts: dict[str, Argument] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    certain: bool = True
    advice: str = ""
    """The key of the advice, where it isn't that of the headline."""


def explain(
    optimizer: Any, parameters: list[Any], passes: list[BackwardPass | ScalerCall], since: int, situation: Situation
) -> Gradless | None:
    """The reason, where none of the ``parameters`` has a gradient. ``since``: the journal's count at the last step;
    ``passes``: the backward passes, or the calls of ``scale`` where those were not recorded."""
    ids = {id(parameter) for parameter in parameters}
    return (
        _cleared(ids, passes, since, situation)
        or _not_yet(passes, since, situation)
        or _frozen(optimizer, parameters, situation)
        or _stale(optimizer, ids, situation)
        or cut(ids, since, situation)
        or _apart(passes, situation)
    )


def _surface(situation: Situation) -> Place | None:
    surface = situation.failure.surface
    return Place.of(surface.site) if surface is not None else None


def _cleared(
    ids: set[int], passes: list[BackwardPass | ScalerCall], since: int, situation: Situation
) -> Gradless | None:
    """``zero_grad`` between the backward pass and the step."""
    recent = [each for each in passes if each.order > since and each.chain]
    for clear in reversed(situation.watch.scaling.cleared if recent else ()):
        if clear.order > recent[-1].order and clear.holds(ids):
            backward = account.station(recent[-1].chain[0], Message("amp.backward"))
            return Gradless("gradients-cleared", Place.of(clear.chain[0]), steps=(backward,))
    return None


def _not_yet(passes: list[BackwardPass | ScalerCall], since: int, situation: Situation) -> Gradless | None:
    """No backward pass since this optimizer stepped last: then its gradients were cleared, and none came."""
    if any(each.order > since for each in passes):
        return None
    place = _surface(situation)
    return Gradless("scaler-call-misplaced", place, "unfed") if place is not None else None


def _frozen(optimizer: Any, parameters: list[Any], situation: Situation) -> Gradless | None:
    if not parameters or any(parameter.requires_grad for parameter in parameters):
        return None
    ids = {id(parameter) for parameter in parameters}
    changes: list[FlagChange] = [
        change for change in situation.watch.journal.flags.values()
        if not change.value and change.chain and change.tensors.keys() & ids
    ]  # fmt: skip
    last = max(changes, key=lambda change: change.order, default=None)
    facts: dict[str, Argument] = {"count": len(parameters)}
    if last is not None:
        return Gradless("frozen-all", Place.of(last.chain[0]), "optimizer", facts)
    made = _construction(optimizer, situation)
    return Gradless("frozen-all", made, "optimizer", facts, certain=False) if made is not None else None


def _construction(optimizer: Any, situation: Situation) -> Place | None:
    """The line that made the optimizer."""
    records = situation.watch.journal.optimizers
    record = next((r for r in records if r.reference() is optimizer and r.chain), None)
    return Place.of(record.chain[0]) if record is not None else None


def _stale(optimizer: Any, ids: set[int], situation: Situation) -> Gradless | None:
    """None of its parameters is in a module any more, and those that are have gradients."""
    alive = list(situation.names.all_parameters())
    if not alive or any(id(parameter) in ids for parameter in alive):
        return None
    others = {id(p) for other in situation.watch.journal.optimizers for p in other.parameters()} - ids
    trained = [p for p in alive if p.grad is not None and id(p) not in others]
    made = _construction(optimizer, situation)
    if made is None or not trained:
        return None
    name = situation.names.parameters.get(id(trained[0]), "")
    again = _replacement(optimizer, trained, situation)
    if again is not None:
        built = Step(at=made.at, note=Message("stale-optimizer.built"))
        return Gradless("stale-optimizer", again, "replaced", {"name": Code(name)}, (built,), certain=False)
    facts: dict[str, Argument] = {"count": len(ids), "name": Code(name)}
    return Gradless("stale-optimizer", made, facts=facts)


def _replacement(optimizer: Any, trained: list[Any], situation: Situation) -> Place | None:
    """The one line that puts another module in the place of that which the optimizer was made for, after it had stepped."""
    watch = situation.watch
    if not any(each.reference() is optimizer for each in watch.journal.stepped):
        return None
    parts = {part for p in trained for part in situation.names.parameters.get(id(p), "").split(".")[:-1]} - {"self"}
    record = next((r for r in watch.journal.optimizers if r.reference() is optimizer and r.chain), None)
    files = {id(s): s for live in situation.failure.user_frames if (s := live.site.source) is not None}
    found: list[Place] = []
    for source in files.values():
        for node in ast.walk(source.tree) if source.tree is not None else ():
            function = source.function(node) if isinstance(node, ast.Assign) else None
            if not isinstance(node, ast.Assign) or getattr(function, "name", "") == "__init__":
                continue
            built = record.chain[0] if record is not None else None
            same = built is not None and getattr(function, "name", "<module>") == built.code.co_name
            before = same and built is not None and node.lineno < built.line
            names = {name.rpartition(".")[2] for target in node.targets for name in bound_names(target)}
            if names & parts and not before and isinstance(node.value, ast.Call):
                found.append(Place(located(source, node), source.segment(node)))
    return found[0] if len(found) == 1 else None


def cut(ids: set[int], since: int, situation: Situation, fed_only: bool = False) -> Gradless | None:
    """The operation on the way from these tensors that lost the path. Without ``fed_only`` one that ran with gradients off
    does where none is known to have fed the loss."""
    watch = situation.watch
    loss = last_loss(situation)
    taken: list[Record] = [r for r in watch.recorder.cuts if r.order > since and feeding.leaves_of(r) & ids]
    if loss is not None:
        lines = feeding.lines_of(loss, watch.recorder)
    else:
        before = [each for each in watch.journal.passes if each.order <= since]
        upto = watch.journal.passes[-1].upto if watch.journal.passes else -1
        lines = feeding.lines_between(max((each.sequence for each in before), default=0), upto, watch.recorder)
    switched = [record for record in taken if record.grad_off]
    fitting = [record for record in taken if feeding.feeds(record, lines)] or ([] if fed_only else switched)
    if not fitting:
        return None
    record = max(fitting, key=lambda each: (len(feeding.leaves_of(each) & ids), each.order))
    found = verdict.of_cut(record, watch.journal)
    if found is None:
        return None
    steps: tuple[Step, ...] = ()
    if found.scope is not None and found.site is not None:
        steps = (account.station(found.site, Message("amp.computed-without")),)
    fed = loss is not None and feeding.feeds(record, lines)
    return Gradless(
        found.cause, Place(found.at, found.subject), "entry", steps=steps, certain=fed or record in switched
    )


def last_loss(situation: Situation) -> Any:
    """The last tensor that went backward, or one of its graph, where a live name still has it."""
    passes = situation.watch.journal.passes
    roots = set(passes[-1].roots) if passes else set()
    best: Any = None
    for _, tensor in situation.names.tensors():
        node = node_of(tensor)
        if node is None:
            continue
        if graph.number_of(node) in roots:
            return tensor
        # scaler.scale(loss) made the root out of this one.
        if roots and graph.number_of(node) < max(roots) and tuple(tensor.shape) == ():
            if best is None or graph.number_of(node) > graph.number_of(node_of(best)):
                best = tensor
    return best


def _apart(passes: list[BackwardPass | ScalerCall], situation: Situation) -> Gradless | None:
    """The loss was computed without them."""
    place = _surface(situation)
    recent = [each for each in passes if each.chain]
    if place is None or not recent:
        return None
    backward = account.station(recent[-1].chain[0], Message("amp.backward"))
    return Gradless("module-unused", place, "optimizer", steps=(backward,), certain=False)
