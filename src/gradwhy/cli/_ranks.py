"""How ``gradwhy run`` and ``gradwhy audit`` tell what they found where several ranks run the program: once, by one of them."""

from __future__ import annotations

import time
from pathlib import Path

import click

from gradwhy.catalog import render
from gradwhy.findings import Message, Report
from gradwhy.report import delivery, error_file, formats
from gradwhy.runtime import ranks
from gradwhy.runtime.ranks import Member, joining, standing
from gradwhy.runtime.session import Outcome

stuck_after = click.option(
    "--stuck-after", metavar="SECONDS", type=click.FloatRange(min=0), default=f"{standing.SECONDS:g}", show_default=True,
    envvar=standing.VARIABLE, help="Where several ranks run the program: say which one is missing when a backward pass or "
    "collective has waited this long; 0 for never.",
)  # fmt: skip


def begin(
    format_name: str, target: Path | None, language: str, stuck_after: float, every_row: bool = False
) -> Teller | None:
    """Who tells, where this process is one rank of several; None otherwise. Before the program starts."""

    def say_meanwhile(report: Report) -> None:
        delivery.deliver(report, format_name, target, language)

    # Processes that the program starts may be ranks even where this one is none.
    standing.Settings.seconds, standing.Settings.tell = stuck_after, say_meanwhile
    member = ranks.enter()
    return Teller(member, format_name, target, language, every_row) if member is not None else None


class Teller:
    """What one rank says at the end of the program."""

    def __init__(
        self, member: Member, format_name: str, target: Path | None, language: str, every_row: bool = False
    ) -> None:
        self.member = member
        self.format_name, self.target, self.language = format_name, target, language
        self.every_row = every_row

    def conclude(self, outcome: Outcome, tried: bool, empty: Message | None, announced: bool = False) -> Report | None:
        """Tell what all ranks have found, and return what was told; None where another rank tells it.

        ``tried`` says whether fixes were to be tried, which can't be done here; ``empty`` is said where the report says nothing;
        ``announced``: the others know already that this rank has something. Never raises: the program's own end goes on.
        """
        try:
            return self._conclude(outcome, tried, empty, announced or isinstance(outcome.error, Exception))
        except Exception as fault:
            delivery.say(f"gradwhy: {type(fault).__name__}: {fault}")
            return None

    def _conclude(self, outcome: Outcome, tried: bool, empty: Message | None, announced: bool) -> Report | None:
        since = time.time()
        standing.ended(self.member, outcome.error)
        if not announced:
            if not self._has_something(outcome.report):
                return None
            joining.coming(self.member)
        turn = joining.take(self.member, outcome.report)
        if isinstance(outcome.error, Exception):
            error_file.add(turn.report, outcome.error, self.language, since)
        told = turn.told(self.member, self.target is not None)
        if told is None:
            return None
        report, in_file = told
        if tried and report.findings:
            delivery.say(f"gradwhy: {render.sentence(Message('words.ranks-untried'), self.language)}")
        target = self.target if in_file else None
        if not delivery.deliver(report, self.format_name, target, self.language, self.every_row) and empty is not None:
            delivery.say(f"gradwhy: {render.sentence(empty, self.language)}")
        turn.done()
        return report

    def _has_something(self, report: Report) -> bool:
        if self.target is not None:
            return True
        return bool(formats.load(self.format_name).write(report, formats.Look(self.language)))
