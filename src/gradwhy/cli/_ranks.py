"""How ``gradwhy run`` tells what it found where several ranks run the same program: once, by one of them."""

from __future__ import annotations

import time
from pathlib import Path

from gradwhy.catalog import render
from gradwhy.findings import Message, Report
from gradwhy.report import delivery, error_file, formats
from gradwhy.runtime import ranks
from gradwhy.runtime.ranks import Member, joining, standing
from gradwhy.runtime.session import Outcome


def begin(format_name: str, target: Path | None, language: str, stuck_after: float) -> Teller | None:
    """Who tells, where this process is one rank of several; None otherwise. Before the program starts."""

    def say_meanwhile(report: Report) -> None:
        delivery.deliver(report, format_name, target, language)

    # Processes that the program starts may be ranks even where this one is none.
    standing.Settings.seconds, standing.Settings.tell = stuck_after, say_meanwhile
    member = ranks.enter()
    return Teller(member, format_name, target, language) if member is not None else None


class Teller:
    """What one rank says at the end of the program."""

    def __init__(self, member: Member, format_name: str, target: Path | None, language: str) -> None:
        self.member = member
        self.format_name, self.target, self.language = format_name, target, language

    def conclude(self, outcome: Outcome, tried: bool) -> None:
        """Tell what all ranks have found. ``tried`` says whether fixes were to be tried, which can't be done here.

        Never raises: the program's own end goes on.
        """
        try:
            self._conclude(outcome, tried)
        except Exception as fault:
            delivery.say(f"gradwhy: {type(fault).__name__}: {fault}")

    def _conclude(self, outcome: Outcome, tried: bool) -> None:
        since = time.time()
        failed = isinstance(outcome.error, Exception)
        standing.ended(self.member, outcome.error)
        if not failed and not self._has_something(outcome.report):
            return
        if not failed:
            joining.coming(self.member)
        turn = joining.take(self.member, outcome.report)
        if failed and outcome.error is not None:
            error_file.add(turn.report, outcome.error, self.language, since)
        if turn.fresh is None:
            return
        target = self.target
        if turn.alone and target is not None and self.member.rank > 0:
            # A file is written by one rank at a time.
            if not turn.fresh.findings:
                return
            target = None
        report = turn.fresh if target is None else turn.report
        if tried and report.findings:
            delivery.say(f"gradwhy: {render.sentence(Message('words.ranks-untried'), self.language)}")
        if not delivery.deliver(report, self.format_name, target, self.language) and failed:
            told = Message("words.not-mine", dict(report.examined))
            delivery.say(f"gradwhy: {render.sentence(told, self.language)}")
        turn.done()

    def _has_something(self, report: Report) -> bool:
        if self.target is not None:
            return True
        return bool(formats.load(self.format_name).write(report, formats.Look(self.language)))
