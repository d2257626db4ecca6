"""States that carry the graph of the step before into the next one: ``hidden-state-carried``."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Finding
from gradwhy.static import again
from gradwhy.static.program import Program


def check(program: Program) -> Iterable[Finding]:
    """A pass that raises "a second time", or that goes through all earlier steps since ``retain_graph=True`` keeps them."""
    return again.findings(program, "hidden-state-carried")
