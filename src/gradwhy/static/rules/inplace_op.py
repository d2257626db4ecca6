"""Values that are changed in place where autograd forbids it: ``inplace-op``."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Finding
from gradwhy.static import writes
from gradwhy.static.program import Program


def check(program: Program) -> Iterable[Finding]:
    """Writes to leaves, and to what an operation saved for backward."""
    yield from writes.on_leaves(program)
    yield from writes.on_saved(program)
