"""The published benchmark of real faults: cases are whole, the scorer counts what it says, README's tables are the results."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

HOME = Path(__file__).resolve().parents[1] / "benchmarks" / "faults"
sys.path.insert(0, str(HOME))

answers: Any = importlib.import_module("answers")
calls: Any = importlib.import_module("calls")
score: Any = importlib.import_module("score")
tables: Any = importlib.import_module("tables")

CASES = score.cases()
SILENT = {"observable", "check", "distance"}
ALWAYS = {"kind", "raises", "fails_at", "cause", "cause_lines", "symbol", "why", "fix", "also", "source", "torch"}


def test_each_case_is_three_files_and_nothing_else_is_there() -> None:
    expected = {f"{case.stem}{ending}" for case in CASES for ending in (".json", ".py", ".fixed.py")}
    assert expected == {path.name for path in (HOME / "cases").iterdir() if path.is_file()}
    assert len(CASES) >= 81


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_the_facts_of_a_case_are_valid(case: Any) -> None:
    facts, lines = case.facts, case.program.read_text("utf-8").splitlines()
    assert ALWAYS <= facts.keys() <= ALWAYS | SILENT | {"needs"}
    assert case.stem.startswith(f"{facts['kind']}-")
    assert facts["cause_lines"] and all(lines[number - 1].strip() for number in facts["cause_lines"])
    assert facts["fails_at"] is None or lines[facts["fails_at"] - 1].strip()
    assert facts["fails_at"] or not case.loud
    assert "check" not in facts or not case.loud
    assert facts["source"].startswith("https://") or facts["source"] == "published advice on this error"
    for program in (case.program, case.twin):
        compile(program.read_text("utf-8"), program.name, "exec")
    assert case.program.read_text("utf-8") != case.twin.read_text("utf-8")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_the_call_of_a_case_fits_both_of_its_programs(case: Any) -> None:
    code = (HOME / "calls" / f"{case.stem}.py").read_text("utf-8")
    told = calls.header(code)
    if "not applicable" in told:
        return
    assert len(re.findall(r"(?m)^check\(", code)) == 1
    compile(code, case.stem, "exec")
    for program in (case.program, case.twin):
        text = program.read_text("utf-8")
        changed = calls.inserted(text, told["before"], int(told.get("nth", 1)))
        compile(changed, program.name, "exec")
        assert changed.replace(calls.INSERTED, "") == text


def case_of(**facts: Any) -> Any:
    known = {"raises": "element 0", "kind": "no-graph", "cause": "detach", "cause_lines": [12, 9]}
    return answers.Case("made-up", known | facts, Path("a.py"), Path("a.fixed.py"))


def said(line: int | None, *causes: str, grave: bool = True) -> Any:
    return answers.Said(line, causes, "", grave)


QUIET = answers.Answer()


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        ([], {"twin"}),
        ([said(12, "detach")], {"said", "line", "any", "shown", "cause", "among", "twin"}),
        ([said(9, "item")], {"said", "line", "any", "shown", "twin"}),
        ([said(3, "item"), said(9, "detach")], {"said", "any", "shown", "among", "twin"}),
        ([said(12, "detach", "item")], {"said", "line", "any", "shown", "among", "twin"}),
        ([said(None, "detach")], {"said", "cause", "among", "twin"}),
        ([said(12, "detach", grave=False)], {"line", "any", "shown", "cause", "among", "twin"}),
    ],
)
def test_what_is_said_of_a_faulty_program(statements: list[Any], words: set[str]) -> None:
    assert set(score.words(case_of(), answers.Answer(statements), QUIET, False)) == words


def test_a_line_that_is_only_printed_is_shown_and_not_named() -> None:
    found = answers.Answer(shown=frozenset({3, 9}))
    assert score.words(case_of(), found, QUIET, False) == ["shown", "twin", "lines:2"]


def test_a_reason_is_not_asked_for_where_the_case_has_another() -> None:
    assert "cause" not in score.words(case_of(cause="other"), answers.Answer([said(12, "other")]), QUIET, False)


@pytest.mark.parametrize(
    ("twin", "quiet"),
    [
        (answers.Answer([said(12, "detach", grave=False)]), True),
        (answers.Answer([said(None)]), False),
        (answers.Answer(failed="no report"), False),
    ],
)
def test_the_twin_is_quiet_where_nothing_of_rank_is_said(twin: Any, quiet: bool) -> None:
    assert ("twin" in score.words(case_of(), QUIET, twin, False)) is quiet


def test_a_correction_that_works_is_counted() -> None:
    assert "fix" in score.words(case_of(), QUIET, QUIET, True)
    assert "fix" not in score.words(case_of(), QUIET, QUIET, False)


def test_edits_are_made_from_the_last_to_the_first() -> None:
    own = {Path(str(tool.__file__)).stem: tool for tool in score.tools()}["gradwhy"]
    first = {"line": 1, "column": 5, "end_line": 1, "end_column": 6, "new_text": "yes"}
    second = {"line": 2, "column": 1, "end_line": 3, "end_column": 1, "new_text": ""}
    assert own.edited("a = b\nc\nd\n", [first, second]) == "a = yes\nd\n"


def test_a_traceback_gives_the_innermost_line_of_the_program_and_the_reason_that_torch_states() -> None:
    printed = (
        "Traceback (most recent call last):\n"
        '  File "/tmp/x/train.py", line 30, in <module>\n    run()\n'
        '  File "/tmp/x/train.py", line 7, in run\n    loss.backward()\n'
        '  File "/lib/torch/_tensor.py", line 600, in backward\n    pass\n'
        "RuntimeError: Trying to backward through the graph a second time (or …)\n"
    )
    (found,) = answers.traceback_of(printed)
    assert (found.line, found.causes) == (7, ("freed-graph-reused",))
    assert found.text.startswith("RuntimeError: Trying")
    assert answers.traceback_of("all is well\n") == []


def test_a_warning_has_the_line_that_python_names() -> None:
    printed = (
        "/tmp/x/train.py:8: UserWarning: Using a target size (torch.Size([8, 1])) that is different to the input size\n"
        "/lib/torch/utils/checkpoint.py:90: UserWarning: None of the inputs have requires_grad=True.\n"
    )
    assert [(each.line, each.causes) for each in answers.warnings_of(printed)] == [
        (8, ("shape-broadcast",)),
        (None, ("checkpoint-frozen-input",)),
    ]


def test_a_tool_that_cannot_be_used_is_left_out_of_the_count() -> None:
    cases = [case_of(), answers.Case("another", case_of().facts, Path("b.py"), Path("b.fixed.py"))]
    record = {"cases": {"made-up": "said line twin", "another": "not applicable: no model"}}
    row = tables.overview({"python": record}, cases).splitlines()[-1]
    assert [cell.strip() for cell in row.split("|")[1:4]] == ["`python`", "1", "1"]


def test_the_tables_of_the_page_are_those_of_the_results() -> None:
    results = json.loads((HOME / "results.json").read_text("utf-8"))
    page = (HOME / "README.md").read_text("utf-8")
    shown = page.partition("<!-- tables -->\n")[2].partition("\n<!-- /tables -->")[0]
    assert shown == tables.all_tables(results, CASES)


def test_every_way_of_every_tool_has_its_results_on_the_same_cases() -> None:
    results = json.loads((HOME / "results.json").read_text("utf-8"))
    assert {way for tool in score.tools() for way in tool.WAYS} == results.keys()
    without = {case.stem for case in CASES if case.facts.get("needs")}
    for record in results.values():
        assert record["cases"].keys() == {case.stem for case in CASES} - without
