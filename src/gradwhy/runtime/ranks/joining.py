"""One report of what several ranks found: the same fault on several ranks is one finding that says on which.

How the ranks agree on who tells it: each leaves its report on the board and claims the turn; whoever gets it waits briefly
for the others, tells, and leaves word of whose reports were in it. Those wait for that word, since the first process that ends
makes a launcher end all others.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from gradwhy.findings import Evidence, Finding, Message, Report, wire
from gradwhy.findings.evidence import Scalar
from gradwhy.runtime.ranks.board import Gone
from gradwhy.runtime.ranks.job import Member

WAIT = 1.0
"""Seconds that the one who tells waits for ranks that have not failed."""
_DIAGNOSED = 10.0
"""Seconds that it waits for ranks that have failed and are still looking into it."""
_TOLD = 15.0
"""Seconds after which one that was to tell counts as gone."""


@dataclass(slots=True)
class Turn:
    """What this rank is to tell. ``report`` joins all ranks that are known, ``fresh`` what no rank has told before: None where
    another rank tells it."""

    report: Report
    fresh: Report | None
    done: Callable[[], None] = field(default=lambda: None)
    """To be called when it was told."""
    alone: bool = False
    """Whether the other ranks could not be reached: one of them may tell too."""

    def told(self, member: Member, in_file: bool) -> tuple[Report, bool] | None:
        """(what this rank is to tell, whether in the file), where a file was asked for or not; None where others tell it."""
        if self.fresh is None:
            return None
        if in_file and self.alone and member.rank > 0:
            # A file is written by one rank at a time.
            return (self.fresh, False) if self.fresh.findings else None
        return (self.report, True) if in_file else (self.fresh, False)


def coming(member: Member) -> None:
    """Say that this rank will have something to tell, before it is looked into. Never raises."""
    try:
        member.board.add("coming", 1)
    except Gone:
        return


def after_all_nothing(member: Member) -> None:
    """For a rank that has said it would have something to tell: the others need not wait for it. Never raises."""
    try:
        member.board.add("posted", 1)
    except Gone:
        return


def take(member: Member, report: Report) -> Turn:
    """Leave the report of this rank on the board, after ``coming``; wait until it was told or is ours to tell. Never raises."""
    try:
        return _take(member, report)
    except Gone:
        alone = joined({member.rank: report}, member.size)
        return Turn(alone, alone, alone=True)


def leave_word(member: Member, report: Report) -> None:
    """For a rank that never tells: the process that started it does. Waits as the one who tells would. Never raises."""
    try:
        _post(member, report)
        _wait_for_others(member)
    except Gone:
        return


def reports(member: Member) -> dict[int, Report]:
    """What is on the board. Raises Gone."""
    return {rank: each.report for rank, each in _left(member).items()}


@dataclass(frozen=True, slots=True)
class _Word:
    """What a rank has left. A program that catches its exceptions may leave several: ``number`` counts them from 0."""

    number: int
    report: Report


@dataclass(frozen=True, slots=True)
class _Told:
    """What was told at one turn, and before."""

    report: Report
    words: Mapping[int, int]
    """Rank -> number of its last word that was told."""
    posted: int
    """How many words had been left by then."""


def _left(member: Member) -> dict[int, _Word]:
    found = {rank: _word_of(member, rank) for rank in range(member.size)}
    return {rank: word for rank, word in found.items() if word is not None}


def _word_of(member: Member, rank: int) -> _Word | None:
    text = member.board.read(f"report/{rank}")
    if text is None:
        return None
    data = json.loads(text)
    return _Word(data["number"], wire.from_data(data["report"]))


def _post(member: Member, report: Report) -> _Word:
    before = _word_of(member, member.rank)
    word = _Word(0 if before is None else before.number + 1, report)
    data = {"number": word.number, "report": wire.to_data(report, lambda message: message.id)}
    member.board.post(f"report/{member.rank}", json.dumps(data))
    member.board.add("posted", 1)
    return word


def _take(member: Member, report: Report) -> Turn:
    board = member.board
    mine = _post(member, report)
    first = int(board.read("turns") or 0)
    last = _said(board.read(f"told/{first - 1}")) if first else None
    for number in range(first, first + member.size + 1):
        told = dict(last.words) if last is not None else {}
        if told.get(member.rank) == mine.number and last is not None:
            return Turn(last.report, None)
        if board.claim(f"turn/{number}"):
            _wait_for_others(member, last.posted if last is not None else 0)
            posted = board.add("posted", 0)
            return _turn(member, number, posted, _left(member) | {member.rank: mine}, told)
        last = _wait_for(member, f"told/{number}") or last
    alone = joined({member.rank: report}, member.size)
    return Turn(alone, alone, alone=True)


def _turn(member: Member, number: int, posted: int, words: Mapping[int, _Word], told: Mapping[int, int]) -> Turn:
    found = {rank: word.report for rank, word in words.items()}
    whole = joined(found, member.size)
    before = {rank: word.report for rank, word in words.items() if told.get(rank) == word.number}
    data = {
        "words": {rank: word.number for rank, word in words.items()},
        "posted": posted,
        "report": wire.to_data(whole, lambda message: message.id),
    }

    def done() -> None:
        try:
            member.board.post(f"told/{number}", json.dumps(data))
            member.board.post("turns", str(number + 1))
        except Gone:
            return

    fresh = _without(before, found, member.size)
    if fresh is None:
        # Nobody will say that it was told.
        done()
    return Turn(whole, fresh, done)


def _said(text: str | None) -> _Told | None:
    if text is None:
        return None
    data = json.loads(text)
    words = {int(rank): number for rank, number in data["words"].items()}
    return _Told(wire.from_data(data["report"]), words, data["posted"])


def _wait_for(member: Member, key: str) -> _Told | None:
    end = time.monotonic() + _TOLD
    while time.monotonic() < end:
        said = _said(member.board.read(key))
        if said is not None:
            return said
        time.sleep(_tick(member))
    return None


def _tick(member: Member) -> float:
    """Seconds between two looks: with many ranks the store has other things to do."""
    return min(0.02 * (1 + member.size / 16), 0.5)


def _wait_for_others(member: Member, before: int = 0) -> None:
    """Until all have left word beside those ``before``, or those that said they would have and ``WAIT`` is over."""
    begun = time.monotonic()
    while True:
        posted, waited = member.board.add("posted", 0), time.monotonic() - begun
        if posted - before >= member.size or waited > _DIAGNOSED:
            return
        if waited > WAIT and posted >= member.board.add("coming", 0):
            return
        time.sleep(_tick(member))


# -- joining


def joined(found: Mapping[int, Report], size: int) -> Report:
    """One report of those of several ranks, the lowest rank's findings first."""
    ranks: dict[object, list[int]] = {}
    first: dict[object, Finding] = {}
    for rank in sorted(found):
        for finding in found[rank].findings:
            ranks.setdefault(_key(finding), []).append(rank)
            first.setdefault(_key(finding), finding)
    findings = tuple(_placed(first[key], sorted(set(each)), size) for key, each in ranks.items())
    lowest = found[min(found)]
    notes = dict.fromkeys(each for rank in sorted(found) for each in found[rank].notes)
    if findings:
        # Ranks that fail since another one did have no cause of their own.
        notes = dict.fromkeys(each for each in notes if each.id != "words.no-answer")
    with_some = next((found[rank] for rank in sorted(found) if found[rank].findings), lowest)
    return replace(
        with_some,
        findings=findings,
        skipped=tuple(dict.fromkeys(each for rank in sorted(found) for each in found[rank].skipped)),
        notes=tuple(notes),
        environment={**with_some.environment, "ranks": f"{spans(found)} of {size}"},
    )


def _without(before: Mapping[int, Report], found: Mapping[int, Report], size: int) -> Report | None:
    """What the others of ``found`` add; None where that is nothing."""
    known = {_key(finding) for report in before.values() for finding in report.findings}
    rest = {
        rank: replace(report, findings=tuple(each for each in report.findings if _key(each) not in known))
        for rank, report in found.items()
        if rank not in before
    }
    if not rest or (before and not any(report.findings for report in rest.values())):
        return None
    return joined(rest, size)


def _key(finding: Finding) -> object:
    return finding.cause, finding.symptom, finding.severity, finding.at.file, finding.at.line


def _placed(finding: Finding, ranks: list[int], size: int) -> Finding:
    if any(each.subject == "ranks" for each in finding.evidence):
        return finding
    key = "all" if len(ranks) == size else "some" if len(ranks) > 1 else "one"
    said = {
        "all": Message("words.ranks-all", {"ranks": spans(ranks)}),
        "some": Message("words.ranks-some", {"ranks": spans(ranks), "of": size}),
        "one": Message("words.ranks-one", {"rank": ranks[0], "of": size}),
    }
    facts: dict[str, Scalar] = {"ranks": tuple(ranks), "of": size}
    seen = Evidence(kind="value", subject="ranks", facts=facts, claim=said[key])
    return replace(finding, evidence=(seen, *finding.evidence))


def spans(ranks: Iterable[int]) -> str:
    """ "0-3, 5" for 0, 1, 2, 3 and 5."""
    parts: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if parts and parts[-1][-1] == rank - 1:
            parts[-1].append(rank)
        else:
            parts.append([rank])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
