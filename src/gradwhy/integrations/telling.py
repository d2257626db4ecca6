"""How a host tells of a report: as text on standard error, in a file, or to a function."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from gradwhy.catalog import render
from gradwhy.findings import Report
from gradwhy.report import delivery, formats

To: TypeAlias = "str | Path | Callable[[Report], Any] | None"
"""Where a report goes: a file (its name says the format), a function, or standard error for None."""


def text_of(report: Report, language: str | None = None, width: int | None = None) -> str:
    """The report as people read it; "" where there is nothing to say."""
    look = formats.Look(render.language_of(language), width or delivery.columns(sys.stderr))
    return formats.load("text").write(report, look)


def tell(report: Report, to: To = None, language: str | None = None) -> None:
    """Bring a report to where it is wanted, if it says anything. Never raises: what fails is said on standard error."""
    try:
        if not (report.findings or report.notes):
            return
        if callable(to):
            to(report)
        else:
            file = Path(to) if to is not None else None
            kind = "json" if file is not None and file.suffix == ".json" else "text"
            delivery.deliver(report, kind, file, render.language_of(language))
    except Exception as fault:
        delivery.say(f"gradwhy: {type(fault).__name__}: {fault}")
