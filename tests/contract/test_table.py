"""The table of the contract: its combinations, their programs, and what is stored of them."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import gradwhy.contract
from gradwhy.catalog import load
from gradwhy.contract import answer, axes, checks, programs, results
from gradwhy.contract.axes import Combination

PACKAGE = Path(gradwhy.contract.__file__).parent


def test_several_thousand_combinations_each_once() -> None:
    table = axes.table()
    assert len(table) > 5000
    assert len(set(map(str, table))) == len(table)


def test_a_combination_is_the_same_by_its_values_and_by_its_text() -> None:
    for each in axes.table():
        assert axes.combination(dict(each.values)) == each
        assert axes.parse(str(each)) == each


def test_values_and_axes_that_a_call_does_not_have_are_refused() -> None:
    for wrong in ({"call": "gradient"}, {"input": "plan"}, {"colour": "red"}, {"call": "grad", "body": "vector"}):
        with pytest.raises(axes.NotValid):
            axes.combination(wrong)


def test_each_combination_has_a_program_of_its_own() -> None:
    texts = {programs.program(each).text for each in axes.table()}
    assert len(texts) == len(axes.table())
    for text in texts:
        compile(text, "program", "exec")
        assert all(len(line) <= 100 for line in text.splitlines())


def test_a_program_reads_as_one_would_write_it() -> None:
    chosen = {"call": "grad", "input": "after", "graph": "no-grad", "output": "vector+ones", "allow-unused": "True"}
    assert programs.program(axes.combination(chosen)).text == (
        "import torch\n"
        "w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)\n"
        "x = torch.tensor([0.5, -1.0, 2.0])\n"
        "with torch.no_grad():\n"
        "    h = x * w\n"
        "    y = h * h\n"
        "x.requires_grad_()\n"
        "result = torch.autograd.grad(\n"
        "    y,\n"
        "    x,\n"
        "    grad_outputs=torch.ones(3),\n"
        "    allow_unused=True,\n"
        ")\n"
    )


def test_results_are_small_and_of_the_table_that_there_is() -> None:
    assert {"2.4.1", "2.8.0", "2.13.0", "2.15.0"} <= set(results.versions())
    assert sum(file.stat().st_size for file in PACKAGE.rglob("results/*.json")) < 300_000
    for version in results.versions():
        assert not results.is_stale(version), f"axes.toml changed before its end: run make contract on {version}"
        record = results.load(version)
        assert record.torch == version
        assert len(record.rows) > 5000


def test_our_own_results_have_every_row() -> None:
    for version in results.versions():
        record = results.load(version)
        if record.source == "table":
            assert set(record.rows) == set(axes.table())


def test_what_is_saved_is_what_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = results.load("2.8.0")
    monkeypatch.setattr(results, "_FOLDER", tmp_path / "results")
    results._outcomes.cache_clear()
    results.save(record)
    assert results.versions() == ["2.8.0"]
    assert results.load("2.8.0") == record
    monkeypatch.undo()
    results._outcomes.cache_clear()
    results.load.cache_clear()


@pytest.mark.parametrize(
    "wanted, found", [("2.4", "2.4.1"), ("2.13.0+cpu", "2.13.0"), ("2.1", None), ("2", "2.15.0"), ("3", None)]
)
def test_a_version_is_found_by_its_beginning(wanted: str, found: str | None) -> None:
    assert results.version_of(wanted) == found


def test_a_version_that_is_not_stored_has_the_one_before_it() -> None:
    assert results.nearest("2.10.0") == "2.9.1"
    assert results.nearest("1.13.1") == "2.0.1"
    assert results.nearest("9.0") == results.versions()[-1]


def test_a_combination_that_a_version_was_not_run_with_has_the_newest_that_was() -> None:
    other = results.load("2.9.1").rows
    missing = next(each for each in axes.table() if each not in other)
    found = answer.answer(missing, "2.9.1")
    assert (found.wanted, found.used) == ("2.9.1", "2.15.0")


def test_differences_are_those_of_the_rows() -> None:
    changes, common = answer.differences("2.12.1", "2.13.0")
    before, after = results.load("2.12.1").rows, results.load("2.13.0").rows
    assert common == len(before.keys() & after.keys())
    assert sum(len(change.combinations) for change in changes) == sum(
        before[e] != after[e] for e in before if e in after
    )
    sizes = [len(change.combinations) for change in changes]
    assert sizes == sorted(sizes, reverse=True)
    texts = {step.raised[1] for change in changes for step in change.steps() if step.raised}
    assert any("One of the differentiated Tensors appears to not" in text for text in texts)
    assert any("The differentiated Tensor at index 0 appears to not" in text for text in texts)


def test_the_classic_questions_have_48_answers() -> None:
    given = axes.classic()
    combinations = [axes.combination(dict(zip(given, values))) for values in itertools.product(*given.values())]
    assert len(set(combinations)) == 48
    for version in results.versions():
        assert set(combinations) <= results.load(version).rows.keys()


# -- words


def named() -> set[str]:
    found = {f"ask/{name}" for name in axes.axes()}
    for name, axis in axes.axes().items():
        if not axis.keyword:
            found |= {f"{name}/{value}" for value in axis.values}
        for value, piece in axis.values.items():
            found |= {f"fix/{name}/{value}/{check}" for check in piece.get("causes", {})}
    return found | {f"check/{check.name}" for check in checks.checks()}


def test_every_value_check_and_fix_has_words_in_each_language_and_no_others_do() -> None:
    free = ("say/", "state/", "switch/")
    for language in load.LANGUAGES:
        assert {key for key in load.contract(language) if not key.startswith(free)} == named()
    assert load.contract("en").keys() == load.contract("zh").keys()


def test_the_words_that_the_command_says_are_there() -> None:
    import re

    text = "".join(file.read_text("utf-8") for file in (PACKAGE.parent / "cli").glob("*contract*.py"))
    said = set(re.findall(r'words\(\s*"(say/[\w-]+)"', text)) | set(re.findall(r'"(say/[\w-]+)"', text))
    assert said <= load.contract("en").keys()


def test_causes_and_symptoms_that_are_named_have_entries() -> None:
    causes = {
        c for axis in axes.axes().values() for p in axis.values.values() for c in p.get("causes", {}).values() if c
    }
    assert causes <= set(load.names("causes"))
    known = set(load.names("symptoms"))
    for check in checks.checks():
        assert {*check.raw.get("symptoms", {}).values(), check.raw.get("symptom", "no-graph")} <= known


# -- verdicts


@pytest.mark.parametrize("version", results.versions())
def test_every_exception_is_some_check_s(version: str) -> None:
    for each, outcome in results.load(version).rows.items():
        verdict = checks.judge(each, outcome, version)
        assert (verdict.decided is not None) == any(step.raised for step in outcome.steps), each
        if verdict.states and each["call"] != axes.FUNCTIONAL:
            assert {"has-graph", "requires-grad", "reached"} <= {name for name, _ in verdict.states}


@pytest.mark.parametrize("version", results.versions())
def test_the_value_that_is_blamed_is_to_blame(version: str) -> None:
    """Taken back to its usual value, another check decides, or none; where two values share a fault, after the second."""
    rows = results.load(version).rows
    looked = 0
    for each, outcome in rows.items():
        verdict = checks.judge(each, outcome, version)
        left, now = dict(each.values), verdict
        for _ in range(3):
            if now.fix is None or fault(now) != fault(verdict):
                break
            left.pop(now.fix.partition("/")[0])
            other = rows.get(Combination(tuple(left.items())))
            if other is None:
                break
            looked += 1
            now = checks.judge(axes.combination(left), other, version)
        else:
            raise AssertionError(f"{each}: {verdict.fix} is not the fault")
    assert looked > 4000


def fault(verdict: checks.Verdict) -> str | None:
    return verdict.decided or verdict.silence
