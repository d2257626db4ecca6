"""The answer to a combination: what was stored of it, which check decided, and how the versions of torch differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gradwhy.contract import axes, checks, programs, results
from gradwhy.contract.axes import Combination
from gradwhy.contract.checks import Verdict
from gradwhy.contract.outcomes import Outcome, Step


@dataclass(frozen=True, slots=True)
class Answer:
    """What torch does for a combination. ``outcome`` and ``verdict`` are None where it was never run."""

    combination: Combination
    wanted: str
    """The version of torch that was asked for."""
    used: str
    """The version that the outcome is from."""
    outcome: Outcome | None
    verdict: Verdict | None

    @property
    def program(self) -> str:
        """The program that was run."""
        return programs.program(self.combination).text

    def wire(self) -> dict[str, Any]:
        """As JSON has it, but for the sentences."""
        call = self.combination["call"]
        data: dict[str, Any] = {
            "schema": 1,
            "combination": {name: self.combination[name] for name in ("call", *axes.of_call(call))},
            "torch": self.used,
            "program": self.program,
            "outcome": self.outcome.wire() if self.outcome is not None else None,
        }
        if self.verdict is not None:
            data |= {
                "decided": self.verdict.decided,
                "silence": self.verdict.silence,
                "checks": dict(self.verdict.states),
                "cause": self.verdict.cause,
                "symptom": self.verdict.symptom,
            }
        return data


def answer(combination: Combination, torch: str) -> Answer:
    """The stored answer of a version of torch. Where it has none, that of the newest version that has."""
    used = results.nearest(torch)
    outcome = results.load(used).rows.get(combination)
    if outcome is None:
        for version in reversed(results.versions()):
            outcome = results.load(version).rows.get(combination)
            if outcome is not None:
                used = version
                break
    return of_run(combination, torch, used, outcome)


def of_run(combination: Combination, wanted: str, used: str, outcome: Outcome | None) -> Answer:
    """The answer that an outcome is."""
    verdict = checks.judge(combination, outcome, used) if outcome is not None else None
    return Answer(combination, wanted, used, outcome, verdict)


@dataclass(frozen=True, slots=True)
class Change:
    """Combinations that went from one outcome to another in the same way."""

    before: Outcome
    after: Outcome
    combinations: tuple[Combination, ...]

    def steps(self) -> tuple[Step, Step]:
        """The first parts of the program that went differently."""
        pairs = zip(self.before.steps, self.after.steps)
        return next((pair for pair in pairs if pair[0] != pair[1]), (self.before.last, self.after.last))

    def where(self) -> Mapping[str, list[str]]:
        """The values that they have, of the axes in which any of them leaves the default."""
        found: dict[str, list[str]] = {}
        for name in axes.axes():
            values = list(dict.fromkeys(each[name] for each in self.combinations))
            if name == "call" or values != [axes.axes()[name].default]:
                found[name] = values
        return found


def differences(old: str, new: str) -> tuple[list[Change], int]:
    """What changed between two stored versions, the largest group first, and how many combinations both were run with."""
    before, after = results.load(old).rows, results.load(new).rows
    groups: dict[str, list[Combination]] = {}
    common = [each for each in before if each in after]
    for each in common:
        if before[each] != after[each]:
            old_step, new_step = Change(before[each], after[each], ()).steps()
            groups.setdefault(f"{old_step} {new_step}", []).append(each)
    changes = [Change(before[group[0]], after[group[0]], tuple(group)) for group in groups.values()]
    return sorted(changes, key=lambda change: -len(change.combinations)), len(common)
