"""Operations behind the loss that had a gradient path and gave a result without one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from gradwhy.runtime import verdict
from gradwhy.runtime.ancestry import Reached, argument_cost, torch_name
from gradwhy.runtime.explanation import Explanation, Loss
from gradwhy.runtime.probes import Situation
from gradwhy.torchapi import table

_COPIES = ("detach", "data-attribute")


@dataclass(slots=True)
class _Group:
    verdict: verdict.Verdict
    nearest: Reached
    distance: int
    leaves: set[int] = field(default_factory=set)
    unknown_leaves: bool = False


def explain(loss: Loss, situation: Situation) -> Iterable[Explanation]:
    """One explanation for each line that cut, however many operations it cut there."""
    groups: dict[tuple[str, str, int, int], _Group] = {}
    verdicts: dict[tuple[object, ...], verdict.Verdict | None] = {}
    for reached in loss.reached:
        record = reached.record
        if not record.is_cut:
            continue
        name = torch_name(record.func)
        row = table.load().op(name)
        if row is not None and row.effect == "constant":
            continue
        # One line may cut thousands of times, in each step of an evaluation.
        alike = (name, id(record.code), record.lasti, id(record.scope), record.grad_off, record.dtype, record.output)
        if alike not in verdicts:
            verdicts[alike] = verdict.of_cut(record, situation.watch.journal)
        found = verdicts[alike]
        found = _departure_instead(found, reached)
        if found is None:
            continue
        key = (found.cause, found.at.file, found.at.line, found.at.column)
        detour = min((argument_cost(name, tracked.slot) for tracked in record.inputs), default=0)
        group = groups.setdefault(key, _Group(found, reached, reached.distance + detour))
        for tracked in record.inputs:
            group.leaves.update(tracked.leaves)
        group.unknown_leaves |= not record.inputs
    for group in groups.values():
        found = group.verdict
        scope = found.scope
        yield Explanation(
            cause=found.cause,
            at=found.at,
            subject=found.subject,
            certain=found.certain,
            trains=not loss.trained or group.unknown_leaves or bool(group.leaves & loss.trained),
            distance=group.distance,
            cut=group.nearest,
            site=found.site,
            opened=found.at if scope is not None else None,
            library=found.library,
            because=found.because,
            stacks=verdict.stacks_of(group.nearest.record, scope),
        )


def _departure_instead(found: verdict.Verdict | None, reached: Reached) -> verdict.Verdict | None:
    """A copy without history that was only made to leave torch: leaving is what cut the path."""
    if found is None or found.cause not in _COPIES:
        return found
    for record in reversed(reached.trail):
        left = verdict.of_departure(record)
        if left is not None:
            return left
    return found
