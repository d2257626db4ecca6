"""``check`` is silent on all right programs of the tests: corrected twins, and what does on purpose what looks wrong."""

from __future__ import annotations

from pathlib import Path

import published
import pytest

from gradwhy.source import text
from gradwhy.static import checking

TESTS = Path(__file__).parents[1]
RIGHT = sorted(
    [*TESTS.glob("cases/*.fixed.py"), *TESTS.glob("silent/*.fixed.py"), *TESTS.glob("corpus/*/*.py"), *published.RIGHT]
)


@pytest.mark.parametrize("program", RIGHT, ids=lambda path: path.stem)
def test_no_finding(program: Path) -> None:
    source = text.read(str(program))
    assert source is not None and source.tree is not None
    assert [(found.cause, found.at.line) for found in checking.check(source, program.name)] == []


def test_there_are_programs() -> None:
    assert len(RIGHT) > 400
