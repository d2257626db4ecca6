"""Checks one file: interprets it, asks each rule, sorts what they found."""

from __future__ import annotations

from collections.abc import Iterator

from gradwhy.findings import Finding
from gradwhy.source.text import SourceText
from gradwhy.static import remedy, rules
from gradwhy.static.flow.run import Run
from gradwhy.static.program import Program
from gradwhy.static.reading import Context
from gradwhy.static.reading import mentions_torch as mentions_torch
from gradwhy.static.settings import NOTHING, Knowledge

BUDGET = 60_000
"""Expressions that a file may cost: about a second."""


def check(
    source: SourceText,
    file: str,
    strict: bool = False,
    around: Context | None = None,
    knowledge: Knowledge = NOTHING,
) -> list[Finding]:
    """The findings in a file, and in what it calls of the project's other files, the best first: what raises, then what
    trains nothing, then the rest, by line."""
    if around is None:
        run = Run(source, BUDGET, knowledge=knowledge)
    else:
        source = around.home.source
        around.project.prepare(around.first)
        run = Run(source, BUDGET, around.project, around.home, knowledge)
    try:
        run.whole_file()
        program = Program(source, file, run, strict)
        found = [finding for rule in rules.load().values() for finding in rule.check(program)]
    finally:
        run.leave()
    if around is not None and run.spent_all:
        # The other files have used up what this one is worth: what it shows by itself counts too.
        found += check(source, file, strict, None, knowledge)
    if not strict:
        found = [finding for finding in found if finding.certainty == "proven"]
    told = [remedy.completed(each, source if each.at.file == file else None) for each in _once(found)]
    return sorted(told, key=lambda finding: _rank(finding, file))


def _once(found: list[Finding]) -> Iterator[Finding]:
    seen: set[tuple[str, str, int, int]] = set()
    for finding in found:
        key = (finding.cause, finding.at.file, finding.at.line, finding.at.column)
        if key not in seen:
            seen.add(key)
            yield finding


def _rank(finding: Finding, file: str) -> tuple[int, bool, str, int, int]:
    order = {"error": 0, "warning": 1, "note": 2}
    other = finding.at.file if finding.at.file != file else ""
    return order[finding.severity], finding.surfaces_at is None, other, finding.at.line, finding.at.column
