"""Gradients that are off at the failing call itself: the open block or call that switched them off."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.runtime import verdict
from gradwhy.runtime.explanation import Explanation, Loss
from gradwhy.runtime.probes import Situation


def explain(loss: Loss, situation: Situation) -> Iterable[Explanation]:
    """Only where the operations weren't recorded: else the cuts say it, with the operation."""
    scope = situation.watch.journal.scope_at(situation.failure.error)
    if scope is None or scope.enables or any(reached.record.is_cut for reached in loss.reached):
        return
    if loss.record is not None and any(reached.record.frozen for reached in loss.reached):
        return
    found = verdict.of_scope(scope, loss.surface.site)
    if found is not None:
        yield Explanation(
            cause=found.cause,
            at=found.at,
            subject=found.subject,
            certain=loss.record is None,
            trains=True,
            distance=0,
            opened=found.at,
            library=found.library,
            stacks=verdict.stacks_of(None, scope),
        )
