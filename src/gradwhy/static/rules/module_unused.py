"""Losses that have no path because of ``module-unused``."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Finding
from gradwhy.static import lost
from gradwhy.static.program import Program


def check(program: Program) -> Iterable[Finding]:
    """A ``backward`` or ``grad`` that raises."""
    return lost.findings(program, "module-unused")
