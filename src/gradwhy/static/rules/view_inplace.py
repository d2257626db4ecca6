"""Views that are changed in place where autograd can't follow: ``view-inplace``."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Finding
from gradwhy.static import writes
from gradwhy.static.program import Program


def check(program: Program) -> Iterable[Finding]:
    """Writes to one of the views that ``chunk``, ``split`` or ``unbind`` gave."""
    return writes.on_views(program)
