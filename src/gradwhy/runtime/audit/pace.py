"""When an audit has seen enough: at the same step on each rank of a job, since those that go on would wait for one that stops."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gradwhy.runtime import ranks
from gradwhy.runtime.ranks.board import Gone

if TYPE_CHECKING:
    from gradwhy.runtime.audit.observer import Observer
    from gradwhy.runtime.ranks import Member

_AT_LEAST = 2
_SECONDS = 30.0
# After this many times as long nobody is waited for: rank 0 need not train, and an optimizer need not step.
_PATIENCE = 4
_UNTIL = "audit/until"


class Pace:
    """Counts optimizer steps. ``steps``: how many of all optimizers together, None for half a minute and two of each."""

    def __init__(self, steps: int | None) -> None:
        self.steps = steps
        self.done = 0
        self.observer: Observer | None = None
        self._since = time.monotonic()
        self._until: int | None = None
        self._alone = False

    def stepped(self) -> None:
        """A step is over."""
        self.done += 1

    def is_enough(self) -> bool:
        """Whether to stop after the step that was the last to end."""
        if self.steps is not None:
            return self.done >= self.steps
        member = ranks.here()
        if member is None or self._alone:
            return self._has_lasted(_SECONDS)
        try:
            return self._is_agreed(member)
        except Gone:
            self._alone = True
            return False

    def _is_agreed(self, member: Member) -> bool:
        """Rank 0 says one step ahead where it ends: ranks that wait for each other in each step are not past that by then."""
        if self._until is None and member.rank == 0 and self._has_lasted(_SECONDS):
            self._until = self.done + 1
            member.board.post(_UNTIL, str(self._until))
        elif self._until is None and member.rank > 0:
            said = member.board.read(_UNTIL)
            self._until = int(said) if said else None
        if self._until is None:
            return member.rank > 0 and self._has_lasted(_SECONDS * _PATIENCE)
        return self.done >= self._until

    def _has_lasted(self, seconds: float) -> bool:
        lasted = time.monotonic() - self._since
        if lasted < seconds or self.observer is None:
            return False
        if lasted >= seconds * _PATIENCE:
            # One of them may never step.
            return True
        counts = self.observer.ledger.updates
        return all(counts.get(number, 0) >= _AT_LEAST for number, _ in self.observer.live_optimizers())
