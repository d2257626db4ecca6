"""``gradwhy explain``: names, messages, pasted tracebacks; pages for a terminal, in Markdown and in JSON; exit codes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, launch

from gradwhy.catalog import answer, load, match, page
from gradwhy.catalog.pasted import Ending
from gradwhy.cli import _page

TRACEBACK = """\
Traceback (most recent call last):
  File "train.py", line 12, in main
    preds = logits.argmax(dim=1).float()
  File "train.py", line 14, in main
    loss.backward()
  File "/env/lib/python3.12/site-packages/torch/_tensor.py", line 648, in backward
    torch.autograd.backward(
RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn
"""
LABELS = {"wrong": "wrong:", "right": "right:"}


def piped(text: str | bytes, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    content = text.encode() if isinstance(text, str) else text
    done = subprocess.run(
        [sys.executable, "-m", "gradwhy", "explain", *arguments, "-"], cwd=folder, input=content, capture_output=True
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_a_cause_by_its_name(gradwhy: Run) -> None:
    run = gradwhy("explain", "argmax")
    assert (run.returncode, run.stderr) == (0, "")
    lines = run.stdout.splitlines()
    assert lines[0] == "argmax gives positions, and a position has no gradient"
    assert {"What you see", "Why", "Fix", "If that is not it", "How it shows", "See also"} <= set(lines)
    assert "    preds = model(x).argmax(dim=1)" in lines
    assert "\x1b" not in run.stdout


def test_a_symptom_has_its_causes_as_commands(gradwhy: Run) -> None:
    run = gradwhy("explain", "no-graph")
    assert "Operations under no_grad record no history\n`gradwhy explain no_grad-context`\n\n  wrong:\n" in run.stdout
    assert "  - `gradwhy explain argmax` argmax gives positions, and a position has no gradient" in run.stdout
    assert re.search(r"\d+ more: `gradwhy explain no-graph --all`", run.stdout)
    every = gradwhy("explain", "no-graph", "--all")
    assert every.stdout.count("\n  wrong:\n") > 15 > run.stdout.count("\n  wrong:\n") == 4
    assert "gradwhy explain sampling" in every.stdout and "explain sampling" not in run.stdout


def test_the_kin_of_a_message_stand_on_the_page_of_their_symptom(gradwhy: Run) -> None:
    run = gradwhy("explain", "call-refused")
    assert "    requires_grad must be a bool" in run.stdout.splitlines()
    assert "Assign a bool: x.requires_grad = True." in run.stdout


def test_a_message(gradwhy: Run) -> None:
    for text in (["TypeError: assigned grad expected to be a Tensor or None but got grad of type int"],
                 ["assigned", "grad", "expected", "to", "be", "a", "Tensor", "or", "None", "but", "got"]):  # fmt: skip
        run = gradwhy("explain", *text)
        assert run.returncode == 0
        assert "What it means\n.grad takes a tensor or None.\n" in run.stdout
        assert "What to do\nUse x.grad = None to clear it" in run.stdout


def test_a_message_that_names_its_cause(gradwhy: Run) -> None:
    run = gradwhy("explain", "Detected call of `lr_scheduler.step()` before `optimizer.step()`.")
    said = " ".join(run.stdout.split())
    assert "The message itself names the cause" in said and "`gradwhy explain scheduler-before-optimizer`" in said


def test_a_text_of_python_says_that_it_may_be_another(gradwhy: Run) -> None:
    run = gradwhy("explain", "TypeError: 'NoneType' object is not callable")
    assert run.returncode == 0 and "Python says this of many things" in run.stdout


def test_a_traceback_on_standard_input(tmp_path: Path) -> None:
    run = piped(TRACEBACK, tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    said = " ".join(run.stdout.split())
    assert "`RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn`" in said
    assert "train.py:12: preds = logits.argmax(dim=1).float() train.py:14: loss.backward()" in said
    assert "_tensor.py" not in said, "the lines of torch are not the user's"
    assert "Likely, not proven" in said and "`gradwhy explain argmax`" in said
    assert "The question that decides" in said and "`gradwhy run train.py`" in said


def test_a_file(gradwhy: Run, tmp_path: Path) -> None:
    (tmp_path / "error.log").write_text(TRACEBACK)
    run = gradwhy("explain", "--file", "error.log", "--format", "md")
    assert run.returncode == 0 and run.stdout.startswith("# element 0 of tensors does not require grad")
    missing = gradwhy("explain", "--file", "nothing.log")
    assert missing.returncode == 2 and "nothing.log: No such file" in missing.stderr
    hint = gradwhy("explain", "error.log")
    assert hint.returncode == 1 and "gradwhy explain --file error.log" in hint.stderr


def test_a_file_as_powershell_writes_it(tmp_path: Path) -> None:
    assert piped(TRACEBACK.encode("utf-16"), tmp_path).returncode == 0
    assert piped(b"\xff\x00\xfe bytes of no text \x80", tmp_path).returncode == 1


def test_the_json_has_the_facts(tmp_path: Path) -> None:
    run = piped(TRACEBACK, tmp_path, "--format", "json")
    data: dict[str, Any] = json.loads(run.stdout)
    assert data["schema"] == 1
    assert data["entry"] == {
        "name": "no-graph",
        "family": "symptoms",
        "title": "element 0 of tensors does not require grad and does not have a grad_fn",
    }
    assert data["recognised"]["exception"] == "RuntimeError" and data["recognised"]["certain"] is True
    (seen,) = data["seen"]
    assert (seen["cause"], seen["file"], seen["line"], seen["subject"]) == (
        "argmax",
        "train.py",
        12,
        "logits.argmax(dim=1)",
    )
    assert "requires_grad" in data["question"]
    assert {"name": "detach", "family": "causes", "title": "detach() gives a tensor without history"} in data["causes"]
    by_name = json.loads(launch(["-m", "gradwhy", "explain", "argmax", "--format", "json"], tmp_path).stdout)
    assert by_name["recognised"] is None and by_name["causes"] == [] and by_name["symptoms"][0]["name"] == "no-graph"


def test_the_language(gradwhy: Run) -> None:
    run = gradwhy("explain", "argmax", "--lang", "zh")
    assert run.stdout.startswith("argmax 给出的是位置") and "错误：" in run.stdout
    assert gradwhy("explain", "argmax", env={"LANG": "zh_CN.UTF-8"}).stdout == run.stdout


def test_the_list_and_the_search(gradwhy: Run) -> None:
    run = gradwhy("explain", "--list")
    assert run.returncode == 0
    named = [line.split()[0] for line in run.stdout.splitlines() if line.startswith("  ")]
    assert named == [*load.names("symptoms"), *load.names("causes"), *load.names("recipes")]
    found = gradwhy("explain", "--search", "checkpoint reentrant")
    assert found.returncode == 0 and "  checkpoint-reentrant" in found.stdout and "argmax" not in found.stdout
    data = json.loads(gradwhy("explain", "--search", "argmax", "--format", "json").stdout)
    assert {
        "name": "argmax",
        "family": "causes",
        "title": "argmax gives positions, and a position has no gradient",
    } in (data["entries"])
    assert gradwhy("explain", "--search", "no such words anywhere").returncode == 1


def test_a_recipe_by_its_name_or_another(gradwhy: Run) -> None:
    run = gradwhy("explain", "gradient-penalty")
    lines = run.stdout.splitlines()
    assert (run.returncode, lines[0]) == (0, "A gradient penalty in the loss of a critic (WGAN-GP)")
    assert {"What it does", "The program", "The lines that matter", "Variations", "See also"} <= set(lines)
    assert [line.removeprefix("    ") for line in lines if line.lstrip() == "import torch"] == ["import torch"]
    assert gradwhy("explain", "WGAN-GP").stdout == run.stdout
    data = json.loads(gradwhy("explain", "pinn", "--format", "json").stdout)
    assert data["entry"]["name"] == "physics-informed" and data["entry"]["family"] == "recipes"
    assert data["program"] == load.raw("physics-informed", "recipe.py") and data["program"] in data["page"]
    assert "did you mean: physics-informed" in gradwhy("explain", "pinnn").stderr
    assert "`gradwhy explain gradient-penalty`" in gradwhy("explain", "create_graph-missing").stdout


def test_near_misses(gradwhy: Run) -> None:
    run = gradwhy("explain", "argmx")
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == "gradwhy: nothing in the catalogue matches `argmx`\ngradwhy: did you mean: argmax\n"
    unlike = gradwhy("explain", "grads can be created implicitly only for outputs that are scalar")
    assert unlike.returncode == 1 and "did you mean: non-scalar" in unlike.stderr


def test_what_is_not_ours(tmp_path: Path) -> None:
    run = piped(TRACEBACK.rpartition("RuntimeError")[0] + "KeyError: 'loss'\n", tmp_path)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == "gradwhy: `KeyError: 'loss'` is no message of autograd, as far as the catalogue knows\n"
    assert piped(" \n", tmp_path).returncode == 1


@pytest.mark.parametrize(
    "arguments", [(), ("--search",), ("--list", "x"), ("--file", "a", "b"), ("--list", "--search", "x")]
)
def test_usage(gradwhy: Run, arguments: tuple[str, ...]) -> None:
    run = gradwhy("explain", *arguments)
    assert (run.returncode, run.stdout) == (2, "") and "Usage: gradwhy explain" in run.stderr


def test_nothing_of_the_user_reaches_the_terminal_raw(tmp_path: Path) -> None:
    """Colours, a window's title, marks of Markdown, a change of direction."""
    sly = '  File "a\x1b]0;owned\x07.py", line 1, in <module>\n    x = "```\x9b31m\u202e" + `[bold]`\n'
    text = (
        "Traceback (most recent call last):\n"
        + sly
        + "RuntimeError: grad can be implicitly created only for scalar ```# x\x1b[2J"
    )
    run = piped(text, tmp_path)
    assert run.returncode == 0
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", run.stdout)
    assert "What you see" in run.stdout.splitlines(), "what was pasted has not swallowed the page"


def test_it_loads_no_torch_and_draws_without_rich(tmp_path: Path) -> None:
    code = (
        "import io, sys\nsys.argv = ['gradwhy', 'explain', '-']\n"
        f"sys.stdin = io.TextIOWrapper(io.BytesIO({TRACEBACK.encode()!r}))\n"
        "from gradwhy.cli.main import main\nmain()\n"
        "print(sorted({'torch', 'numpy', 'rich', 'executing'} & sys.modules.keys()), file=sys.stderr)\n"
    )
    assert launch(["-c", code], tmp_path).stderr == "[]\n"


def test_the_user_s_file_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("open('ran', 'w').close()\n")
    assert piped(TRACEBACK, tmp_path).returncode == 0
    assert not (tmp_path / "ran").exists()


# -- the page


@pytest.mark.parametrize("language", load.LANGUAGES)
def test_every_page_fits_eighty_columns(language: str) -> None:
    """Programs keep their lines: all but those fit."""
    for name in answer.every_name():
        markdown = page.markdown(answer.Answer(name), language, all_causes=True)
        code = set(re.findall(r"^.*$", "\n".join(re.findall(r"```python.*?\n(.*?)```", markdown, re.S)), re.M))
        drawn = _page.draw(markdown, 80, False, LABELS)
        wide = [line for line in drawn.splitlines() if _page.cells(line) > 80 and line[4:] not in code]
        assert not wide or all(" " not in line.strip("` ") for line in wide), (name, wide)
        assert "```" not in drawn, name


@pytest.mark.parametrize("language", load.LANGUAGES)
def test_every_message_has_a_page(language: str) -> None:
    for known in match.all_known():
        if known.key and not known.stated:
            text = known.says.replace(match.ANYTHING, " x ") or "x"
            recognised = match.Recognised(Ending(text=text), known.entry, known.key)
            markdown = page.markdown(answer.Answer(known.entry, recognised), language)
            for part in ("means", "fix"):
                sentence = load.text(known.entry, language).sentences[f"{part}-{known.key}"]  # type: ignore[union-attr]
                assert sentence in markdown


def test_a_page_in_colours_says_the_same() -> None:
    markdown = page.markdown(answer.Answer("argmax"), "en")
    plain, coloured = (_page.draw(markdown, 80, colour, LABELS) for colour in (False, True))
    assert "\x1b[31mwrong:\x1b[0m" in coloured and "\x1b[32mright:\x1b[0m" in coloured
    stripped = re.sub(r"\x1b\[[\d;]*m", "", coloured)
    # Code within a line has backticks only where it has no colour.
    assert stripped.replace("`", "").split() == plain.replace("`", "").split()


def test_lines_are_filled_in_either_script() -> None:
    drawn = _page.draw(
        "# 标题\n\n" + "梯度路径到此为止，" * 12 + "\n\n" + "no gradient " * 20 + "\n\n- one\n- two", 40, False, {}
    )
    lines = drawn.splitlines()
    assert lines[:2] == ["标题", "────"]
    assert all(_page.cells(line) <= 42 for line in lines)
    assert not any(line.startswith("，") for line in lines)
    assert lines[-2:] == ["  - one", "  - two"]
