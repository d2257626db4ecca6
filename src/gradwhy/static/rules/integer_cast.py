"""Losses that have no path because of ``integer-cast``."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Finding
from gradwhy.static import inputs, lost, silent
from gradwhy.static.program import Program


def check(program: Program) -> Iterable[Finding]:
    """A ``backward`` or ``grad`` that raises."""
    yield from lost.findings(program, "integer-cast")
    yield from inputs.findings(program, "integer-cast")
    yield from silent.findings(program, "integer-cast")
