"""Losses that have no path because of ``wrong-list-entry``."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Finding
from gradwhy.static import inputs
from gradwhy.static.program import Program


def check(program: Program) -> Iterable[Finding]:
    """A ``backward`` or ``grad`` that raises."""
    yield from inputs.findings(program, "wrong-list-entry")
