"""Failures that torch's own words explain: the messages that the entries of causes list under ``stated``."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from gradwhy.catalog import load


@dataclass(frozen=True, slots=True)
class Stated:
    """One message. ``<cause>.headline-<key>`` and ``<cause>.advice-<key>`` say it; named groups of ``pattern`` fill them.

    The line is the failing one, unless ``line`` asks for another, where that can be told: "node PATTERN" for the line that
    made the graph node of that name, "call NAME" for the one call of that function in the user's files, "keyword NAME" for
    the one that sets that argument to True, "grad-mode" for what switched gradients off, "frozen" for what froze
    parameters, "backward" for the call that went backward where the failure is in what that ran.
    """

    cause: str
    key: str
    symptom: str
    pattern: re.Pattern[str]
    raises: str
    line: str = ""


@functools.cache
def all_stated() -> tuple[Stated, ...]:
    """What all entries of causes list, in the order of their names."""
    return tuple(
        Stated(
            cause=name,
            key=row["key"],
            symptom=row["symptom"],
            pattern=re.compile(row["pattern"], re.S),
            raises=row.get("raises", "RuntimeError"),
            line=row.get("line", ""),
        )
        for name in load.names("causes")
        if (entry := load.entry(name)) is not None
        for row in entry.facts.get("stated", ())
    )


def of(raised: str, text: str) -> Stated | None:
    """The one that an exception of that class with that text is."""
    return next((each for each in all_stated() if each.raises == raised and each.pattern.search(text)), None)
