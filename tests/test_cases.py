"""Real faults, rewritten as small programs: the line, the cause, and silence on the corrected twin.

``cases/`` holds them in the format of ``cases/FORMAT.md``, ``published.py`` adds the public ones. A case that is known
to be missed is listed in ``MISSED`` with the reason; one that starts to be found must leave the list.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import published
import pytest

from gradwhy.catalog import load

HERE = Path(__file__).parent
CASES = sorted([*(HERE / "cases").glob("*.json"), *published.RUN], key=lambda meta: meta.stem)
CLEAN = sorted((HERE / "corpus" / "clean").glob("*.py"))

MISSED = {
    "no-graph-305-tied-decoder": "a weight that was frozen in one module and tied into another afterwards",
    "no-graph-307-cartpole-clip": "log-probabilities kept from a rollout are used in place of new ones",
    "no-graph-315-depth-normals": "a detached copy that is kept for the log is summed instead of the loss",
    "no-graph-419-kiln-masks": "targets overwrite outputs of the same name; the loss's own line is named",
    "no-graph-327-pendulum-actor": "actions from the replay memory are rated in place of the actor's own",
    "custom-function-02-splat-image": "the input has the wrong shape, not the gradient that the backward gives for it",
}
OTHER_CAUSE = {
    "input-unused-501-cooling-rod": "the tensor asked for was built again after the outputs: another than the one that was used",
    "numpy-requires-grad-501-epoch-log": "the meter that was given the loss itself fails where NumPy averages it",
    "no-graph-204-ordinal-gap": "torch.max(x, 1)[1] is an index output and an argmax",
    "no-graph-212-quiz-answers": "argmax and then a comparison: either cuts",
    "no-graph-228-retina-contrast": "tolist, then NumPy, then a tensor: the first to leave is named",
}


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Each program's report, two at a time."""
    out = tmp_path_factory.mktemp("reports")
    programs = [p for meta in CASES for p in (meta.with_suffix(".py"), meta.with_name(f"{meta.stem}.fixed.py"))]
    programs += CLEAN
    started = [
        subprocess.Popen([sys.executable, "-W", "ignore", HERE / "run_programs.py", out, *programs[part::2]])
        for part in range(2)
    ]
    for process in started:
        assert process.wait(timeout=1_800) == 0
    return {path.stem: json.loads(path.read_text()) for path in out.glob("*.json")}


def facts_of(meta: Path) -> dict[str, Any]:
    return json.loads(meta.read_text("utf-8"))


LOUD = [meta for meta in CASES if facts_of(meta)["raises"]]


@pytest.mark.parametrize("meta", LOUD, ids=lambda meta: meta.stem)
def test_the_program_runs_with_the_first_edits_that_are_offered(meta: Path, reports: dict[str, dict[str, Any]]) -> None:
    report = reports[meta.stem]
    if "repaired" not in report:
        assert not any(fix["edits"] for finding in report["findings"] for fix in finding["fixes"])
        return
    repaired = report["repaired"]
    if meta.stem in MISSED:
        return
    assert repaired is not None and repaired["ended"] is None, repaired and (repaired["ended"], repaired["findings"])


@pytest.mark.parametrize("meta", LOUD, ids=lambda meta: meta.stem)
def test_names_the_line_and_the_cause(meta: Path, reports: dict[str, dict[str, Any]]) -> None:
    facts, report = facts_of(meta), reports[meta.stem]
    assert report["ended"] is not None
    first = report["findings"][0] if report["findings"] else {"at": {"line": None}, "cause": None}
    found = first["at"]["line"] in facts["cause_lines"]
    if meta.stem in MISSED:
        assert not found, "this one is found now: take it off the list"
        return
    assert found, f"said {first['cause']} at {first['at']['line']}, expected {facts['cause']} at {facts['cause_lines']}"
    if facts["cause"] != "other" and meta.stem not in OTHER_CAUSE:
        assert first["cause"] == facts["cause"]
    assert first["surfaces_at"]["line"] == facts["fails_at"]


@pytest.mark.parametrize("meta", LOUD, ids=lambda meta: meta.stem)
def test_the_catalogue_lists_the_cause_under_the_symptom(meta: Path, reports: dict[str, dict[str, Any]]) -> None:
    for finding in reports[meta.stem]["findings"]:
        entry = load.entry(finding["cause"])
        assert entry is not None
        assert finding["symptom"] in entry.facts["symptoms"], (finding["symptom"], finding["cause"])


@pytest.mark.parametrize("meta", CASES, ids=lambda meta: meta.stem)
def test_says_nothing_of_the_corrected_twin(meta: Path, reports: dict[str, dict[str, Any]]) -> None:
    report = reports[f"{meta.stem}.fixed"]
    assert report["ended"] is None
    assert report["findings"] == []
    assert report["notes"] == []


@pytest.mark.parametrize("program", CLEAN, ids=lambda program: program.stem)
def test_says_nothing_of_correct_programs(program: Path, reports: dict[str, dict[str, Any]]) -> None:
    report = reports[program.stem]
    assert (report["ended"], report["findings"], report["notes"]) == (None, [], [])
    assert report["examined"]["operations"] > 0


def test_a_loss_that_was_made_a_leaf_is_found_without_an_exception(
    reports: dict[str, dict[str, Any]],
) -> None:
    facts = facts_of(published.HOME / "silent-leaf-loss-02-lesion-dice.json")
    first, second = reports["silent-leaf-loss-02-lesion-dice"]["findings"]
    assert first["symptom"] == second["symptom"] == "silent-leaf-loss"
    assert first["cause"] == facts["cause"]
    assert first["at"]["line"] in facts["cause_lines"]
    assert second["cause"] == "requires-grad-on-loss"
    assert second["because_of"] == first["fingerprint"]
