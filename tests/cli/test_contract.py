"""``gradwhy contract``: the answer to a combination, tables, differences between versions, live runs, questions."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import select
import signal
import sys
import unicodedata
from pathlib import Path

import pytest
from conftest import Run

from gradwhy.contract import axes, results

ANSWER = """\
torch.autograd.grad(outputs, inputs), torch 2.13.0

  input    a leaf without the flag
  output   a scalar, nothing passed
  made     by a forward pass as usual

RuntimeError: One of the differentiated Tensors does not require grad

  checks   each output has a graph   passed
           each input requires grad  failed: this decides
           each input was reached    not looked at any more
  fix      Call `x.requires_grad_()` before the forward pass, or make x with
           `requires_grad=True`.
  more     gradwhy explain requires_grad-missing

  program
    import torch
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = torch.tensor([0.5, -1.0, 2.0])
    h = x * w
    y = h * h
    out = y.sum()
    result = torch.autograd.grad(out, x)
"""


def cells(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in line)


def test_an_answer(gradwhy: Run) -> None:
    run = gradwhy("contract", "--call", "grad", "--input", "plain", "--torch", "2.13")
    assert (run.returncode, run.stderr, run.stdout) == (0, "", ANSWER)


def test_an_answer_in_chinese(gradwhy: Run) -> None:
    run = gradwhy("contract", "--call", "grad", "--input", "plain", "--torch", "2.13", "--lang", "zh")
    assert "RuntimeError: One of the differentiated Tensors does not require grad" in run.stdout
    assert "不通过：由它决定" in run.stdout and "在前向传播之前调用" in run.stdout


def test_what_raises_nothing_and_gives_nothing_is_said(gradwhy: Run) -> None:
    silent = gradwhy("contract", "--call", "grad", "--input", "after", "--allow-unused", "True").stdout
    assert "Nothing is raised, and None is returned" in silent and "not reached, and allowed" in silent
    unfilled = gradwhy("contract", "--call", "backward-inputs", "--input", "list-good-unused").stdout
    assert "an input gets no gradient" in unfilled and "unused.grad: None" in unfilled
    fine = gradwhy("contract", "--call", "backward").stdout
    assert "x.grad: tensor of shape (3,), float32" in fine and "  fix " not in fine


def test_values_are_understood_in_other_spellings(gradwhy: Run) -> None:
    dashes = gradwhy("contract", "--graph", "no-grad", "--create-graph", "True")
    lines = gradwhy("contract", "--graph", "no_grad", "--create-graph", "true")
    assert dashes.stdout == lines.stdout and dashes.returncode == 0
    usual = gradwhy("contract", "--create-graph", "False")
    assert usual.stdout == gradwhy("contract", "--call", "grad").stdout and usual.returncode == 0


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--call", "gradient"], "one of: grad, backward"),
        (["--call", "grad", "--body", "vector"], "`grad` has no --body"),
        (["--torch", "1.0", "--call", "grad"], "there are 2.0.1"),
        (["--differences", "2.4", "9"], "there are 2.0.1"),
        (["--call", "grad", "--format", "csv"], "csv goes with"),
        ([], "say which combination"),
    ],
)
def test_what_can_t_be_answered(gradwhy: Run, arguments: list[str], said: str) -> None:
    run = gradwhy("contract", *arguments)
    assert (run.returncode, run.stdout) == (2, "")
    assert said in " ".join(run.stderr.split())


def test_json(gradwhy: Run) -> None:
    data = json.loads(gradwhy("contract", "--input", "plain", "--torch", "2.4", "--format", "json").stdout)
    assert (data["schema"], data["torch"], data["decided"], data["cause"]) == (
        1, "2.4.1", "requires-grad", "requires_grad-missing",
    )  # fmt: skip
    assert data["combination"]["input"] == "plain"
    assert data["outcome"][0]["raised"][0] == "RuntimeError"
    assert data["checks"] == {"has-graph": "passed", "requires-grad": "failed", "reached": "later"}
    assert "live" not in data


def test_markdown(gradwhy: Run) -> None:
    text = gradwhy("contract", "--input", "after", "--torch", "2.13", "--format", "md").stdout
    assert text.startswith("## torch.autograd.grad(outputs, inputs), torch 2.13.0\n")
    assert "`gradwhy explain requires-grad-late`" in text and "```python\nimport torch\n" in text


def test_a_version_has_its_own_text(gradwhy: Run) -> None:
    old = gradwhy("contract", "--input", "after", "--torch", "2.4").stdout
    new = gradwhy("contract", "--input", "after", "--torch", "2.13").stdout
    assert "One of the differentiated Tensors appears to not" in " ".join(old.split())
    assert "The differentiated Tensor at index 0 appears to not" in " ".join(new.split())


def test_a_row_that_a_version_was_not_run_with_says_so(gradwhy: Run) -> None:
    other = results.load("2.9.1").rows
    missing = next(each for each in axes.table() if each not in other and each["call"] != axes.FUNCTIONAL)
    options = [part for name, value in missing.values for part in (f"--{name}", value)]
    run = gradwhy("contract", *options, "--torch", "2.9")
    assert "not run on torch 2.9.1; this is from 2.15.0" in run.stdout


def test_a_combination_outside_the_table_is_for_live(gradwhy: Run) -> None:
    options = ["--input", "plain", "--output", "vector+shape2", "--create-graph", "True"]
    assert axes.combination({"input": "plain", "output": "vector+shape2", "create-graph": "True"}) not in axes.table()
    run = gradwhy("contract", *options)
    assert run.returncode == 0 and "--live runs it" in " ".join(run.stdout.split())
    live = gradwhy("contract", *options, "--live")
    assert live.returncode == 0 and "Mismatch in shape: grad_output[0]" in live.stdout


def test_live_is_the_same_as_what_is_stored(gradwhy: Run) -> None:
    run = gradwhy("contract", "--call", "backward-inputs", "--input", "plain", "--live")
    assert run.returncode == 0
    assert re.search(r"live +torch \S+ does the same", run.stdout)


def test_live_tells_where_another_version_does_something_else(gradwhy: Run) -> None:
    run = gradwhy("contract", "--input", "after", "--live", "--torch", "2.4")
    assert run.returncode == 1
    assert re.search(r"live +torch \S+ does something else", run.stdout)
    assert "The differentiated Tensor at index 0" in " ".join(run.stdout.split())


def test_torch_is_imported_with_live_alone(python: Run) -> None:
    code = """
import sys
from gradwhy.cli import main
sys.argv = ["gradwhy", "contract", "--input", "plain"]
main.main()
assert not {"torch", "numpy", "rich"} & sys.modules.keys()
print("none")
"""
    run = python("-c", code)
    assert run.returncode == 0 and run.stdout.endswith("none\n"), run.stderr


def test_the_table_has_the_48_combinations(gradwhy: Run) -> None:
    text = gradwhy("contract", "--table", "--torch", "2.13").stdout
    rows = [line for line in text.splitlines() if re.match(r"(grad|backward) ", line)]
    assert len(rows) == 24
    words = [word for row in rows for word in row.split()[4:]]
    # As they have been published: 18 without a graph, 12 no legal call, 9 not scalar, 2 without the flag, 1 not reached, ...
    counts = {word: words.count(word) for word in set(words)}
    assert counts == {
        "has-graph": 18, "keyword": 12, "scalar": 9, "requires-grad": 2, "reached": 1, "none-returned": 1, "unfilled": 2,
        "gradient": 3,
    }  # fmt: skip
    data = json.loads(gradwhy("contract", "--table", "--format", "json").stdout)
    assert len(data) == 48


def test_all_rows_as_csv_and_markdown(gradwhy: Run) -> None:
    run = gradwhy("contract", "--all", "--torch", "2.13")
    rows = list(csv.DictReader(io.StringIO(run.stdout)))
    assert len(rows) == len(results.load("2.13.0").rows)
    assert {"call", "input", "decided", "outcome"} <= rows[0].keys()
    text = gradwhy("contract", "--all", "--torch", "2.13", "--format", "md").stdout
    assert len(text.splitlines()) == len(rows) + 2


def test_differences(gradwhy: Run) -> None:
    run = gradwhy("contract", "--differences", "2.4", "2.13")
    first = re.match(r"(\d+) of (\d+) combinations differ between torch 2.4.1 and 2.13.0", run.stdout)
    assert first
    data = json.loads(gradwhy("contract", "--differences", "2.4", "2.13", "--format", "json").stdout)
    assert sum(change["count"] for change in data["changes"]) == int(first[1])
    none = gradwhy("contract", "--differences", "2.13", "2.15").stdout
    assert none.startswith("0 of ") and len(none.splitlines()) == 1


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["--input", "list-good-unused"],
        ["--call", "backward", "--create-graph", "True", "--again", "same"],
        ["--input", "inference-saved"],
        ["--call", "func.grad", "--body", "inplace-captured", "--has-aux", "True"],
        ["--output", "vector+complex64", "--mode", "inference", "--retain-graph", "True"],
        ["--table"],
        ["--differences", "2.0", "2.13"],
    ],
)
def test_lines_fit_80_columns(gradwhy: Run, arguments: list[str], language: str) -> None:
    run = gradwhy("contract", *arguments, "--lang", language)
    assert run.returncode == 0
    for line in run.stdout.splitlines():
        assert cells(line) <= 80, line
        assert line == line.rstrip()


# -- questions, on a terminal


def ask(keys: list[str], wanted: str, library: str | None = None) -> str:
    """Run the command on a terminal, and answer each question with the keys. ``library`` is a folder with a stand-in."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ |= {"TERM": "dumb", "LC_ALL": "en_US.UTF-8", **({"PYTHONPATH": library} if library else {})}
        os.execv(sys.executable, [sys.executable, "-m", "gradwhy", "contract"])
    seen = ""
    while True:
        ready, _, _ = select.select([terminal], [], [], 20)
        try:
            part = os.read(terminal, 65536).decode("utf-8", "replace") if ready else ""
        except OSError:
            part = ""
        if not part:
            if not ready:
                os.kill(child, signal.SIGKILL)
            break
        seen += part
        if keys and re.search(wanted, seen.rpartition("\n")[2]):
            os.write(terminal, keys.pop(0).encode())
            seen += "\n"
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(terminal)
    return f"{seen}\nexit {code}".replace("\r", "")


HIDDEN = "raise ImportError\n"
CHOOSING = """
def choice(message, options, default):
    print(message, default)
    return {"Which call?": "backward-inputs"}.get(message, default)
"""


def stand_in(folder: Path, text: str) -> str:
    package = folder / "prompt_toolkit"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "shortcuts.py").write_text(text)
    return str(folder)


def test_questions_by_number(tmp_path: Path) -> None:
    text = ask(["1\n", "2\n", "\n", "\n", "\n", "\n"], r"number \[\d+\]: $", stand_in(tmp_path, HIDDEN))
    assert text.count("number [1]") == 6
    assert "RuntimeError: One of the differentiated Tensors does not require grad" in text
    assert text.endswith("exit 0")


def test_giving_up(tmp_path: Path) -> None:
    text = ask(["1\n", "\x04"], r"number \[\d+\]: $", stand_in(tmp_path, HIDDEN))
    assert text.endswith("exit 130") and "Traceback" not in text


def test_questions_with_the_library(tmp_path: Path) -> None:
    text = ask([], "never", stand_in(tmp_path, CHOOSING))
    assert "Which call? grad" in text and "output.backward(inputs=...), torch" in text
    assert text.endswith("exit 0")
