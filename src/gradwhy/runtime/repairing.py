"""Corrects a program round by round: makes an edit, runs the program with it, goes on with what then shows, until it trains."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from gradwhy.findings import Edit, Finding, Fix, Report, Verification
from gradwhy.runtime import launch, trial
from gradwhy.source import text
from gradwhy.source.saving import Change

How: TypeAlias = Literal["run", "audit"]

_TRIALS = 16
_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Repair:
    """The edits of all rounds together. ``verification`` is None where nothing was tried; ``left`` is what still shows."""

    texts: Mapping[str, str] = field(default_factory=dict)
    made: tuple[tuple[Finding, Fix], ...] = ()
    verification: Verification | None = None
    left: tuple[Finding, ...] = ()

    @property
    def works(self) -> bool:
        """Whether the program was run with the edits and trains."""
        return self.verification is not None and self.verification.passed

    def changes(self) -> list[Change]:
        """Each file whose text is another one now."""
        found: list[Change] = []
        for file, after in self.texts.items():
            source = text.read(file)
            if source is not None and source.text != after:
                found.append(Change(file, source.text, after))
        return found


@dataclass(slots=True)
class Repairing:
    """How to try: the program, where it started, whether an audit judges or a run, and who hears of each trial."""

    program: launch.Program
    folder: str
    how: How = "run"
    on_trial: Callable[[Finding, Fix], None] = lambda finding, fix: None
    trials: int = 0

    def untried(self, report: Report) -> Repair:
        """The first fix with edits of the best finding that has one, not tried."""
        for finding, fix in _candidates(report.findings):
            texts = trial.edited(fix, {})
            if texts is not None:
                return Repair(texts, ((finding, fix),), None, ())
        return Repair(left=report.findings)

    def repair(self, report: Report, steps: int) -> Repair:
        """Edits that make the program train, or those that got it further. ``steps`` went well before it failed."""
        done = Repair(left=report.findings)
        seen = {finding.fingerprint for finding in report.findings[:1]}
        for _ in range(_ROUNDS):
            better = self._round(done, steps, seen)
            if better is None:
                break
            done, steps = better
            if done.works and not _faults(done.left):
                break
            seen |= {finding.fingerprint for finding in done.left[:1]}
        return done

    def _round(self, done: Repair, steps: int, seen: set[str]) -> tuple[Repair, int] | None:
        """One more fix that works, or gets the program further; None where none does."""
        for finding, fix in _candidates(done.left):
            texts = trial.edited(fix, done.texts)
            if texts is None or self.trials >= _TRIALS:
                continue
            self.trials += 1
            self.on_trial(finding, fix)
            tried = trial.attempt(trial.Attempt(self.program, texts, self.folder, steps, self.how == "audit"))
            left = tried.report.findings if tried.report is not None else ()
            further = left[:1] and left[0].fingerprint not in seen
            gone = _count(left, finding) < _count(done.left, finding)
            if (tried.verification.passed and gone) or (tried.verification.failure and further and self.how == "run"):
                fix = replace(fix, verification=tried.verification)
                made = (*done.made, (finding, fix))
                return Repair(texts, made, tried.verification, left), tried.steps
        return None


def _candidates(findings: tuple[Finding, ...]) -> Iterator[tuple[Finding, Fix]]:
    """Each finding with each of its fixes that has edits; first also with what a reviewer would change at the same time."""
    for finding in findings:
        if finding.severity == "note":
            continue
        beside = tuple(edit for other in finding.related for edit in _safe(other))
        for fix in finding.fixes:
            if not fix.edits:
                continue
            if beside:
                yield finding, replace(fix, edits=(*fix.edits, *beside))
            yield finding, fix


def _safe(other: Finding) -> tuple[Edit, ...]:
    return next((fix.edits for fix in other.fixes if fix.edits and fix.applicability == "safe"), ())


def _faults(findings: tuple[Finding, ...]) -> bool:
    return any(finding.severity != "note" for finding in findings)


def _count(findings: tuple[Finding, ...], like: Finding) -> int:
    """How many findings of the same cause there are, those beside others included."""
    everything = itertools.chain.from_iterable((each, *each.related) for each in findings)
    return sum(each.cause == like.cause for each in everything)
