"""Graphs that were used up by an earlier ``backward``: ``loss-accumulated``."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Finding
from gradwhy.static import again, kept
from gradwhy.static.program import Program


def check(program: Program) -> Iterable[Finding]:
    """A pass that raises "a second time", and sums for the log that keep every graph."""
    yield from again.findings(program, "loss-accumulated")
    yield from kept.findings(program)
