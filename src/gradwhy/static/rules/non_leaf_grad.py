"""The ``.grad`` of a computed tensor is read: it stays None."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Finding
from gradwhy.static import grads
from gradwhy.static.program import Program


def check(program: Program) -> Iterable[Finding]:
    """A read of ``.grad`` on a tensor with a history."""
    return grads.findings(program, "non-leaf-grad")
