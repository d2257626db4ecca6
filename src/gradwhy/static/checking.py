"""Checks one file: interprets it, asks each rule, sorts what they found."""

from __future__ import annotations

from collections.abc import Iterator

from gradwhy.findings import Finding
from gradwhy.source.text import SourceText
from gradwhy.static import remedy, rules
from gradwhy.static.flow.run import Run
from gradwhy.static.program import Program

BUDGET = 60_000
"""Expressions that a file may cost: about a second."""
_WORDS = ("backward", "autograd", "optim", "requires_grad", "require_grad", "grad")


def mentions_torch(text: str) -> bool:
    """The first look: whether a file can have anything to do with gradients at all."""
    return "torch" in text and any(word in text for word in _WORDS)


def check(source: SourceText, file: str, strict: bool = False) -> list[Finding]:
    """The findings in a file, the best first: what raises, then what trains nothing, then the rest, by line."""
    run = Run(source, BUDGET)
    run.whole_file()
    program = Program(source, file, run, strict)
    found = [finding for rule in rules.load().values() for finding in rule.check(program)]
    if not strict:
        found = [finding for finding in found if finding.certainty == "proven"]
    return sorted((remedy.completed(finding, source) for finding in _once(found)), key=_rank)


def _once(found: list[Finding]) -> Iterator[Finding]:
    seen: set[tuple[str, int, int]] = set()
    for finding in found:
        key = (finding.cause, finding.at.line, finding.at.column)
        if key not in seen:
            seen.add(key)
            yield finding


def _rank(finding: Finding) -> tuple[int, bool, int, int]:
    order = {"error": 0, "warning": 1, "note": 2}
    return order[finding.severity], finding.surfaces_at is None, finding.at.line, finding.at.column
