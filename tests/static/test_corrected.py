"""A fix is made and the file checked again: the finding is gone, and no error of another cause is new."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradwhy.findings import Finding
from gradwhy.source import edits
from gradwhy.source.text import SourceText
from gradwhy.static import checking

TESTS = Path(__file__).parents[1]
WRONG = [
    path for path in sorted([*TESTS.glob("cases/*.py"), *TESTS.glob("silent/*.py")]) if not path.stem.endswith(".fixed")
]


def found_in(text: str) -> list[Finding]:
    return checking.check(SourceText("train.py", text), "train.py")


def corrections() -> list[tuple[str, str, Finding]]:
    """(name, program, finding) of each finding with edits."""
    programs = [(path.stem, path.read_text("utf-8")) for path in WRONG]
    return [
        (f"{name}-{finding.cause}-{finding.at.line}", text, finding)
        for name, text in programs
        for finding in found_in(text)
        if any(fix.edits for fix in finding.fixes)
    ]


CORRECTIONS = corrections()


@pytest.mark.parametrize(("text", "finding"), [c[1:] for c in CORRECTIONS], ids=[c[0] for c in CORRECTIONS])
def test_the_finding_is_gone(text: str, finding: Finding) -> None:
    fix = next(fix for fix in finding.fixes if fix.edits)
    before, after = found_in(text), found_in(edits.apply(text, fix.edits))
    # Where two cuts lie on one path, the other one is named next.
    assert (finding.cause, finding.subject) not in {(each.cause, each.subject) for each in after}
    causes = {each.cause for each in before}
    assert not [(each.cause, each.at.line) for each in after if each.severity == "error" and each.cause not in causes]


def test_there_are_corrections() -> None:
    assert len(CORRECTIONS) > 100
