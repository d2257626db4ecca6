"""Graphs that were used up by an earlier ``backward``: ``hidden-state-carried``."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Finding
from gradwhy.static import again
from gradwhy.static.program import Program


def check(program: Program) -> Iterable[Finding]:
    """A pass that raises "a second time"."""
    return again.findings(program, "hidden-state-carried")
