"""``GRADWHY=1 python train.py``: what ``gradwhy hook install`` has Python import at its start where that variable is set."""

from __future__ import annotations

import os
import sys
from typing import cast

from gradwhy.runtime import arrival

VARIABLE = "GRADWHY"
_OFF = ("", "0")
_TRACES = ("always", "never")


def wanted() -> str | None:
    """How to trace, or None where the variable is not set or says no. ``always`` and ``never`` are as for ``gradwhy run``."""
    value = os.environ.get(VARIABLE, "").strip().lower()
    if value in _OFF:
        return None
    return value if value in _TRACES else "auto"


def begin() -> None:
    """Install the hooks once torch is imported: a program without torch never hears of us. Never raises."""
    trace = wanted()
    if trace is not None:
        arrival.when_imported("torch", lambda: _install(trace))


def _install(trace: str) -> None:
    try:
        from gradwhy.integrations.excepthook import install
        from gradwhy.runtime.watch import TraceMode

        install(trace=cast(TraceMode, trace))
    except Exception as fault:
        print(f"gradwhy: {type(fault).__name__}: {fault}", file=sys.stderr)


begin()
