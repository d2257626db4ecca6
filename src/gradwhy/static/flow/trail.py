"""The state of the interpretation: every write is logged, so that a branch can be taken back and joined with another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from gradwhy.static.flow.histories import Fields, Flow

MISSING: Final = object()
Changes = dict[tuple[int, Any], tuple[Fields, Any, Any]]


class Trail:
    """A log of (dict, key, old value)."""

    __slots__ = ("log",)

    def __init__(self) -> None:
        self.log: list[tuple[Fields, Any, Any]] = []

    @property
    def mark(self) -> int:
        return len(self.log)

    def write(self, fields: Fields, key: Any, value: Any) -> None:
        """Set ``fields[key]``; MISSING takes it out."""
        self.log.append((fields, key, fields.get(key, MISSING)))
        if value is MISSING:
            fields.pop(key, None)
        else:
            fields[key] = value

    def changes(self, mark: int) -> Changes:
        """What has been written since ``mark``, with the values of now."""
        return {(id(d), k): (d, k, d.get(k, MISSING)) for d, k, _ in self.log[mark:]}

    def undo(self, mark: int) -> None:
        """Go back to ``mark``."""
        log = self.log
        while len(log) > mark:
            fields, key, old = log.pop()
            if old is MISSING:
                fields.pop(key, None)
            else:
                fields[key] = old

    def take(self, mark: int) -> Changes:
        """What has been written since ``mark``; undone."""
        found = self.changes(mark)
        self.undo(mark)
        return found

    def apply(self, changes: Changes) -> None:
        for fields, key, value in changes.values():
            if fields.get(key, MISSING) is not value:
                self.write(fields, key, value)

    def apply_joined(self, outcomes: list[Changes], born: int) -> None:
        """The state after one of several outcomes, all of them counted from the state of now.

        ``born`` tells histories that were made on the way there: what they belong to exists on one of the ways only.
        """
        from gradwhy.static.flow.joining import every, join_slot

        if len(outcomes) == 1:
            self.apply(outcomes[0])
            return
        keys = dict.fromkeys(key for outcome in outcomes for key in outcome)
        # Histories first: what holds their tensors is joined by them.
        for key in sorted(keys, key=lambda key: key[1] != "flow"):
            fields, name = next(outcome[key][:2] for outcome in outcomes if key in outcome)
            before = fields.get(name, MISSING)
            if isinstance(before, Flow) and before.serial > born:
                values = [outcome[key][2] for outcome in outcomes if key in outcome]
            else:
                values = [outcome[key][2] if key in outcome else before for outcome in outcomes]
            if name == "items" and _differ(values):
                # Lists that one way has made longer: what only some have may be there.
                shortest = min(len(value) for value in values)
                more = [item for value in values for item in value[shortest:]]
                rest = fields.get("rest")
                self.write(fields, "rest", every([*more, *([rest] if rest is not None else [])]))
                values = [value[:shortest] for value in values]
            joined = join_slot(values)
            if joined is not before:
                self.write(fields, name, joined)


def _differ(values: list[Any]) -> bool:
    return all(isinstance(value, tuple) for value in values) and len({len(value) for value in values}) > 1


def distinct(values: Iterable[Any]) -> list[Any]:
    """The different objects among values, in order."""
    return list({id(value): value for value in values}.values())
