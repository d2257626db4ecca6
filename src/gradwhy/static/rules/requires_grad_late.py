"""Flags that are set after the fact: ``requires-grad-late``."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Finding
from gradwhy.static import inputs, lost, unheld
from gradwhy.static.program import Program

CAUSE = "requires-grad-late"


def check(program: Program) -> Iterable[Finding]:
    """After the forward pass, or after the optimizer has picked what it trains."""
    yield from lost.findings(program, CAUSE)
    yield from inputs.findings(program, CAUSE)
    yield from unheld.findings(program, CAUSE)
