"""How a host tells of a report: as text on standard error, in a file, or to a function; once for all ranks of a job."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from gradwhy.catalog import render
from gradwhy.findings import Report
from gradwhy.report import delivery, error_file, formats
from gradwhy.runtime import embedded, ranks
from gradwhy.runtime.ranks import Member, joining, standing

To: TypeAlias = "str | Path | Callable[[Report], Any] | None"
"""Where a report goes: a file (its name says the format), a function, or standard error for None."""


def text_of(report: Report, language: str | None = None, width: int | None = None) -> str:
    """The report as people read it; "" where there is nothing to say."""
    look = formats.Look(render.language_of(language), width or delivery.columns(sys.stderr))
    return formats.load("text").write(report, look)


def tell(report: Report, to: To = None, language: str | None = None) -> None:
    """Bring a report to where it is wanted, if it says anything. Never raises: what fails is said on standard error.

    Where this process is one rank of several, one of those that call this brings what all have found.
    """
    global _last
    try:
        _last = report
        something = bool(report.findings or report.notes)
        if something:
            announce()
        member = _announced.pop() if _announced else None
        if member is None:
            if something:
                _bring(report, to, language)
        elif something:
            _tell_for_all(member, report, to, language)
        else:
            joining.after_all_nothing(member)
    except Exception as fault:
        delivery.say(f"gradwhy: {type(fault).__name__}: {fault}")


def _bring(report: Report, to: To, language: str | None) -> None:
    if callable(to):
        to(report)
    else:
        file = Path(to) if to is not None else None
        kind = "json" if file is not None and file.suffix == ".json" else "text"
        delivery.deliver(report, kind, file, render.language_of(language))


# -- one rank of several

_announced: list[Member] = []
_last = Report()
_over = False


def announce() -> None:
    """Let the other ranks know, where there are any, that this one looks into something. ``tell`` is to follow. Never raises."""
    member = ranks.here()
    if member is not None and not _announced:
        _announced.append(member)
        joining.coming(member)


def _tell_for_all(member: Member, report: Report, to: To, language: str | None) -> None:
    global _last
    turn = joining.take(member, report)
    _last = turn.report
    told = turn.told(member, in_file=to is not None and not callable(to))
    if told is not None:
        whole, in_file = told
        _bring(whole, to if in_file or callable(to) else None, language)
        turn.done()


def program_ends(error: BaseException | None, since: float, language: str | None) -> None:
    """The program ends, by this exception if there is one, which the last report was on: ranks that wait for this one learn of
    it, and so does torchrun, whose table of failures shows the report. Only the first call counts. Never raises."""
    global _over
    try:
        member = ranks.here()
        if _over or member is None or embedded.is_spoken_for():
            return
        _over = True
        standing.ended(member, error)
        if error is not None:
            error_file.add(_last, error, render.language_of(language), since)
    except Exception as fault:
        delivery.say(f"gradwhy: {type(fault).__name__}: {fault}")


def tell_meanwhile(to: To, language: str | None) -> None:
    """Bring what is found where ranks wait for each other, while the program runs, to the same place."""
    if embedded.is_spoken_for() or standing.Settings.tell is not None:
        return
    standing.Settings.tell = functools.partial(_bring, to=to, language=language)
    asked = os.environ.get(standing.VARIABLE, "")
    if asked.replace(".", "", 1).isdecimal():
        standing.Settings.seconds = float(asked)
