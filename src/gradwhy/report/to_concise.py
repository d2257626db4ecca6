"""One line a finding: ``path:line:column: error[cause] headline``."""

from __future__ import annotations

from gradwhy.catalog import render
from gradwhy.findings import Finding, Location, Report
from gradwhy.report.formats import Look


def write(report: Report, look: Look) -> str:
    """The lines, what was skipped and our own notes after the findings."""
    lines = [_finding(finding, look) for finding in report.findings]
    lines += [f"{place(at)}: {render.sentence(why, look.language)}" for at, why in report.skipped]
    lines += [render.sentence(note, look.language) for note in report.notes]
    return "".join(f"{line}\n" for line in lines)


def _finding(finding: Finding, look: Look) -> str:
    word = "likely" if finding.certainty == "likely" else finding.severity
    return f"{place(finding.at)}: {word}[{finding.cause}] {render.sentence(finding.message, look.language)}"


def place(at: Location) -> str:
    """``train.py:38:8``, or ``notes.ipynb:cell 11:2:8``."""
    cell = f"cell {at.cell}:" if at.cell is not None else ""
    return f"{at.file}:{cell}{at.line}:{at.column}"
