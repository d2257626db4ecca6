"""Conversions after the flag: the result is not the leaf."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Finding
from gradwhy.static import grads
from gradwhy.static.program import Program


def check(program: Program) -> Iterable[Finding]:
    """A parameter that is converted where it is made, or a read of ``.grad`` on a tensor with a history."""
    yield from grads.findings(program, "to-device-non-leaf")
    yield from grads.trained(program, "to-device-non-leaf")
