"""Silent faults as small programs, their corrected twins, and programs that do on purpose what looks like one.

``silent/`` has the faults in the format of ``cases/FORMAT.md``, ``corpus/intended/`` the programs that are right. A fault that is
known to be missed is listed in ``MISSED`` with the reason; one that starts to be found must leave the list.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
CASES = sorted((HERE / "silent").glob("*.json"))
INTENDED = sorted((HERE / "corpus" / "intended").glob("*.py"))

MISSED = {
    "silent-accumulate-38-two-optimizers": "the wrong optimizer is cleared; the backward pass that adds is named",
    "silent-stale-optimizer-36-shadow-weights": "two networks are swapped and averaged in turn: neither stays the trained one",
}
OTHER_CAUSE = {
    "silent-not-in-optimizer-44-thaw-callback": "released after the optimizer was made: the same fact by its other name",
}

Reports = dict[str, dict[str, Any]]


@pytest.fixture(scope="session")
def audits(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    """Each program's report, two at a time."""
    out = tmp_path_factory.mktemp("audits")
    programs = [p for meta in CASES for p in (meta.with_suffix(".py"), meta.with_name(f"{meta.stem}.fixed.py"))]
    programs += INTENDED
    # Without "-W ignore": a warning that a filter leaves out is no finding.
    runner = [sys.executable, HERE / "run_programs.py", "--audit", out]
    started = [subprocess.Popen([*runner, *programs[part::2]]) for part in range(2)]
    for process in started:
        assert process.wait(timeout=3_000) == 0
    return {path.stem: json.loads(path.read_text()) for path in out.glob("*.json")}


@pytest.mark.parametrize("meta", CASES, ids=lambda meta: meta.stem)
def test_names_the_line_and_the_cause(meta: Path, audits: Reports) -> None:
    facts, report = json.loads(meta.read_text("utf-8")), audits[meta.stem]
    first = report["findings"][0] if report["findings"] else {"at": {"line": None}, "cause": None}
    found = first["at"]["line"] in facts["cause_lines"]
    if meta.stem in MISSED:
        assert not found, "this one is found now: take it off the list"
        return
    assert found, f"said {first['cause']} at {first['at']['line']}, expected {facts['cause']} at {facts['cause_lines']}"
    if facts["cause"] != "other" and meta.stem not in OTHER_CAUSE:
        assert first["cause"] == facts["cause"]


@pytest.mark.parametrize("meta", CASES, ids=lambda meta: meta.stem)
def test_the_first_edits_that_are_offered_cure_it(meta: Path, audits: Reports) -> None:
    report = audits[meta.stem]
    repaired = report.get("repaired", report)
    offered = next((f for f in report["findings"] if any(fix["edits"] for fix in f["fixes"])), None)
    assert (offered is None) is ("repaired" not in report)
    if offered is not None:
        # The programs of this folder end with an assertion that holds as long as the fault is there.
        assert repaired["ended"] in (None, "AssertionError")
        assert (offered["cause"], offered["subject"]) not in {(f["cause"], f["subject"]) for f in repaired["findings"]}


@pytest.mark.parametrize("program", [*(f"{meta.stem}.fixed" for meta in CASES), *(path.stem for path in INTENDED)])
def test_is_silent_on_what_is_right(program: str, audits: Reports) -> None:
    report = audits[program]
    told = [(f["cause"], f["at"]["line"]) for f in report["findings"] if f["severity"] != "note"]
    assert not told
    assert not [note for note in report["notes"] if note["text"]["id"] == "words.own-fault"]
    assert report["examined"]["steps"] or report["ended"] is None
