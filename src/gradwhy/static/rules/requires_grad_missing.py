"""Losses that have no path because of ``requires_grad-missing``."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Finding
from gradwhy.static import inputs, lost
from gradwhy.static.program import Program


def check(program: Program) -> Iterable[Finding]:
    """A ``backward`` or ``grad`` that raises."""
    yield from lost.findings(program, "requires_grad-missing")
    yield from inputs.findings(program, "requires_grad-missing")
