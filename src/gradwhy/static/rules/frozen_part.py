"""Parts that are frozen where they should train: ``frozen-part``."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Finding
from gradwhy.static import inputs, lost, misspelt
from gradwhy.static.program import Program


def check(program: Program) -> Iterable[Finding]:
    """A ``backward`` or ``grad`` that raises, and flags that are spelt wrongly."""
    yield from lost.findings(program, "frozen-part")
    yield from inputs.findings(program, "frozen-part")
    yield from misspelt.findings(program)
