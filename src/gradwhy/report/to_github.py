"""Annotations for GitHub Actions: one workflow command a finding."""

from __future__ import annotations

from gradwhy.catalog import render
from gradwhy.findings import Finding, Location, Message, Report
from gradwhy.report.formats import Look

_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def write(report: Report, look: Look) -> str:
    """``::error file=…,line=…,title=…::headline``."""
    lines = [_finding(finding, look) for finding in report.findings]
    lines += [_command("notice", at, "gradwhy", why, look) for at, why in report.skipped]
    lines += [f"::notice title=gradwhy::{_data(render.sentence(note, look.language))}" for note in report.notes]
    return "".join(f"{line}\n" for line in lines)


def _finding(finding: Finding, look: Look) -> str:
    return _command(_LEVELS[finding.severity], finding.at, f"gradwhy {finding.cause}", finding.message, look)


def _command(level: str, at: Location, title: str, message: Message, look: Look) -> str:
    # Lines of a cell are not lines of the notebook's file.
    spans = (
        {"line": at.line, "endLine": at.end_line, "col": at.column, "endColumn": at.end_column}
        if at.cell is None
        else {}
    )
    properties = {"file": at.file, **{key: value for key, value in spans.items() if value is not None}, "title": title}
    said = render.sentence(message, look.language)
    said = said if at.cell is None else f"cell {at.cell} line {at.line}: {said}"
    return f"::{level} {','.join(f'{key}={_property(str(value))}' for key, value in properties.items())}::{_data(said)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
