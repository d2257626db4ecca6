"""A fix is made and the file checked again: the finding is gone, and no error of another cause is new."""

from __future__ import annotations

from pathlib import Path

import published
import pytest

from gradwhy.findings import Finding
from gradwhy.source import edits
from gradwhy.source.text import SourceText
from gradwhy.static import checking

TESTS = Path(__file__).parents[1]
PROGRAMS = [*TESTS.glob("cases/*.py"), *TESTS.glob("silent/*.py"), *published.PROGRAMS]
WRONG = [path for path in sorted(PROGRAMS) if not path.stem.endswith(".fixed")]


def found_in(text: str) -> list[Finding]:
    return checking.check(SourceText("train.py", text), "train.py")


@pytest.mark.parametrize("program", WRONG, ids=lambda path: path.stem)
def test_each_finding_is_gone_with_its_edits(program: Path) -> None:
    text = program.read_text("utf-8")
    before = found_in(text)
    causes = {each.cause for each in before}
    for finding in before:
        fix = next((fix for fix in finding.fixes if fix.edits), None)
        if fix is None:
            continue
        after = found_in(edits.apply(text, fix.edits))
        # Where two cuts lie on one path, the other one is named next.
        assert (finding.cause, finding.subject) not in {(each.cause, each.subject) for each in after}
        assert not [
            (each.cause, each.at.line) for each in after if each.severity == "error" and each.cause not in causes
        ]


def test_there_are_corrections() -> None:
    some = [path for path in WRONG if path.stem.startswith(("no-graph-2", "silent-none-grad"))]
    assert (
        sum(any(fix.edits for finding in found_in(path.read_text("utf-8")) for fix in finding.fixes) for path in some)
        > 20
    )
