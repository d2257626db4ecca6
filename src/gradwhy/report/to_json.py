"""The JSON report, schema 1: findings as data, with their sentences in the language that was asked for."""

from __future__ import annotations

import json

from gradwhy.catalog import render
from gradwhy.findings import Report, wire
from gradwhy.report.formats import Look


def write(report: Report, look: Look) -> str:
    """One JSON document. It is never empty: a report without findings says what was examined."""
    data = wire.to_data(report, lambda message: render.sentence(message, look.language))
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"
