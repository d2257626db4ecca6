"""Losses that have no path because of ``item``."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Finding
from gradwhy.static import inputs, lost, number_lost, silent
from gradwhy.static.program import Program


def check(program: Program) -> Iterable[Finding]:
    """A ``backward`` or ``grad`` that raises."""
    yield from lost.findings(program, "item")
    yield from inputs.findings(program, "item")
    yield from silent.findings(program, "item")
    yield from number_lost.findings(program, "item")
