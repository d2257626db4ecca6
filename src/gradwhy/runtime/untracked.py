"""Why one tensor has no gradient path of its own: frozen, cut by the operation that made it, or never flagged."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from gradwhy.findings import Location
from gradwhy.runtime import verdict
from gradwhy.runtime.account import Place
from gradwhy.runtime.ancestry import behind, torch_name
from gradwhy.runtime.explanation import Explanation, Loss
from gradwhy.runtime.journal import FlagChange
from gradwhy.runtime.origins import cuts, departures, frozen
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.records import Record
from gradwhy.torchapi import table


@dataclass(frozen=True, slots=True)
class Reason:
    """The cause and the line to change; ``opened`` where a block or decorator switched gradients off."""

    cause: str
    place: Place
    certain: bool
    opened: Location | None = None


def froze(tensor: Any, situation: Situation) -> FlagChange | None:
    """The last line that set ``requires_grad`` of this tensor to False."""
    changes = [c for c in situation.watch.journal.flags.values() if not c.value and id(tensor) in c.tensors and c.chain]
    return max(changes, key=lambda change: change.order, default=None)


def reason(tensor: Any, situation: Situation) -> Reason | None:
    """Why the operation that made a tensor gave it no path; None for data that just was never flagged.

    What was lost further back does not matter: a tensor without a path needs no more than the flag.
    """
    record = situation.watch.recorder.record_of(tensor)
    if record is None or situation.failure.surface is None:
        return None
    own = _own(record, situation)
    if own is not None:
        return own
    loss = Loss.of(tensor, 0, situation.failure.surface, situation)
    row = table.load().op(torch_name(record.func))
    found: list[Explanation] = []
    if row is not None and row.effect == "builds":
        found = [e for origin in (cuts, departures) for e in situation.each(partial(origin.explain, loss, situation))]
        found.sort(key=lambda explanation: explanation.distance)
    if not found and any(reached.record.frozen for reached in loss.reached):
        found = situation.each(partial(frozen.explain, loss, situation))
    if not found:
        return None
    best = found[0]
    trains = any(parameter.requires_grad for parameter in situation.names.all_parameters())
    # Where something trains in this program, what is frozen is a part of it.
    cause = "frozen-part" if best.cause == "frozen-all" and trains else best.cause
    return Reason(cause, Place(best.at, best.subject), best.certain, best.opened)


def _own(record: Record, situation: Situation) -> Reason | None:
    """The operation is a cut itself, ran with gradients off, or has a cut on its line, as ``w.data - lr * g`` has."""
    found = verdict.of_cut(record, situation.watch.journal) if record.is_cut else None
    if found is None and not record.is_cut:
        beside = _beside(record)
        found = verdict.of_cut(beside, situation.watch.journal) if beside is not None else None
    # A block without gradients took nothing from what was computed in it of plain data alone.
    if found is None and record.scope is not None and any(each.record.grad_off for each in behind(record)):
        found = verdict.of_scope(record.scope, record.site, record.chain)
    if found is None:
        return None
    return Reason(
        found.cause, Place(found.at, found.subject), found.certain, found.at if found.scope is not None else None
    )


def _beside(record: Record) -> Record | None:
    for _, parent in record.parents:
        if parent.is_cut and parent.site is not None and record.site is not None:
            if parent.site.code is record.site.code and parent.site.line == record.site.line:
                return parent
    return None
