"""An optimizer that is given a computed tensor."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Finding
from gradwhy.static import grads
from gradwhy.static.program import Program

CAUSE = "computed-tensor-trained"


def check(program: Program) -> Iterable[Finding]:
    """torch refuses a tensor that has a history."""
    return grads.trained(program, CAUSE)
