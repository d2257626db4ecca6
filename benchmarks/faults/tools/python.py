"""Plain Python, the baseline: the line and the text of the traceback, and what torch warns of."""

from __future__ import annotations

from pathlib import Path

from answers import Answer, Case, alone, traceback_of, warnings_of
from answers import python as run

ABOUT = "`python train.py`: the innermost line of the program in the traceback, then torch's warnings"
PACKAGE = None
WAYS = ("python",)


def examine(program: Path, case: Case, way: str) -> Answer:
    with alone(program) as script:
        ended = run(script, warn=True)
    return Answer([*traceback_of(ended.stderr), *warnings_of(ended.stderr)])
