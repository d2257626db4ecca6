"""``gradwhy check``: paths, notebooks, standard input, formats, settings, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, launch

Write = Callable[..., Path]

CUT = """
    import torch

    w = torch.ones(3, requires_grad=True)
    loss = w.detach().sum()
    loss.backward()
"""
FINE = """
    import torch

    w = torch.ones(3, requires_grad=True)
    (w * 2).sum().backward()
"""


def test_a_finding_with_its_line_and_path(gradwhy: Run, program: Write) -> None:
    program(CUT)
    run = gradwhy("check", "train.py")
    assert (run.returncode, run.stderr) == (1, "")
    headline, place = run.stdout.splitlines()[0].rsplit(maxsplit=1)
    assert (headline.strip(), place) == ("error[detach] `loss` has no gradient path to any parameter", "train.py:4")
    assert "the path ends here: `detach` drops the history" in run.stdout
    assert "surfaces here" in run.stdout


def test_nothing_found(gradwhy: Run, program: Write) -> None:
    program(FINE)
    program("print('no tensors here')", "other.py")
    run = gradwhy("check", ".")
    assert (run.returncode, run.stdout) == (0, "nothing found in 2 files, 1 with torch\n")


def test_the_json_is_the_report_of_the_other_commands(gradwhy: Run, program: Write, tmp_path: Path) -> None:
    program(CUT)
    run = gradwhy("check", "--format", "json", "--output", "report.json", "train.py")
    assert (run.returncode, run.stdout) == (1, "")
    data = json.loads((tmp_path / "report.json").read_text())
    assert data["schema"] == 1
    (finding,) = data["findings"]
    assert (finding["cause"], finding["symptom"], finding["engine"]) == ("detach", "no-graph", "static")
    at = finding["at"]
    assert (at["line"], at["column"], at["end_column"], at["cell"]) == (4, 8, 18, None)
    assert finding["surfaces_at"]["line"] == 5


def test_concise_and_github_lines(gradwhy: Run, program: Write) -> None:
    program(CUT)
    said = "`loss` has no gradient path to any parameter"
    assert gradwhy("check", "--format", "concise", "train.py").stdout == f"train.py:4:8: error[detach] {said}\n"
    line = f"::error file=train.py,line=4,endLine=4,col=8,endColumn=18,title=gradwhy detach::{said}\n"
    assert gradwhy("check", "--format", "github", "train.py").stdout == line


def test_sarif(gradwhy: Run, program: Write) -> None:
    program(CUT)
    log = json.loads(gradwhy("check", "--format", "sarif", "train.py").stdout)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    (result,) = run["results"]
    assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "detach"
    assert result["level"] in ("error", "warning", "note")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "train.py"}
    assert place["region"] == {"startLine": 4, "startColumn": 8, "endLine": 4, "endColumn": 18}
    assert result["codeFlows"][0]["threadFlows"][0]["locations"]
    (change,) = result["fixes"][0]["artifactChanges"]
    assert change["replacements"][0]["insertedContent"] == {"text": "w"}


def notebook(*cells: str) -> str:
    made = [{"cell_type": "markdown", "source": ["# Title"], "metadata": {}}]
    made += [{"cell_type": "code", "source": cell.splitlines(True), "metadata": {}, "outputs": []} for cell in cells]  # type: ignore[misc]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


CELLS = (
    "%matplotlib inline\nimport torch\n!pip list",
    "%%bash\nls $(pwd)",
    "w = torch.ones(3, requires_grad=True)\nloss = w.detach().sum()\nloss.backward()",
)


def test_a_notebook_is_told_of_by_cell_and_line(gradwhy: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.ipynb").write_text(notebook(*CELLS))
    run = gradwhy("check", "--format", "concise", "notes.ipynb")
    assert run.stdout == "notes.ipynb:cell 4:2:8: error[detach] `loss` has no gradient path to any parameter\n"
    text = gradwhy("check", "notes.ipynb").stdout
    assert "notes.ipynb:cell 4 line 2" in text
    assert "loss = w.detach().sum()" in text
    data = json.loads(gradwhy("check", "--format", "json", "notes.ipynb").stdout)
    at = data["findings"][0]["at"]
    assert (at["cell"], at["line"]) == (4, 2)


def test_standard_input(tmp_path: Path) -> None:
    run = launch(["-m", "gradwhy", "check", "-", "--stdin-filename", "a/b.py"], tmp_path, input=_dedented(CUT))
    assert run.returncode == 1
    assert "a/b.py:4" in run.stdout
    assert "loss = w.detach().sum()" in run.stdout


def _dedented(code: str) -> str:
    import textwrap

    return textwrap.dedent(code).lstrip("\n")


def test_what_is_ignored_is_left_out(gradwhy: Run, program: Write, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("made/\n*_old.py\n!kept_old.py\n")
    for name in ("made/a.py", "b_old.py", "kept_old.py", "pack/c.py", ".venv/d.py", "pack/skip/e.py"):
        program(CUT, name)
    (tmp_path / "pack" / ".gitignore").write_text("skip\n")
    run = gradwhy("check", "--format", "concise", ".")
    assert [line.split(":")[0] for line in run.stdout.splitlines()] == ["kept_old.py", "pack/c.py"]
    # A file that is named is looked at all the same.
    assert gradwhy("check", "b_old.py").returncode == 1


@pytest.mark.parametrize(
    ("comment", "code"),
    [
        ("# gradwhy: ignore[detach]", 0),
        ("# gradwhy: ignore", 0),
        ("# gradwhy: ignore[argmax, detach] why", 0),
        ("# gradwhy: ignore[argmax]", 1),
    ],
)
def test_a_comment_suppresses(gradwhy: Run, program: Write, comment: str, code: int) -> None:
    program(CUT.replace(".sum()", f".sum()  {comment}"))
    assert gradwhy("check", "train.py").returncode == code


@pytest.mark.parametrize(
    ("table", "code"),
    [
        ('ignore = ["detach"]', 0), ('select = ["argmax"]', 0), ('select = ["detach"]', 1), ('exclude = ["train.py"]', 0),
        ('per-file-ignores = {"train*.py" = ["detach"]}', 0), ('per-file-ignores = {"other.py" = ["detach"]}', 1),
        ('ignore = ["nonsense"]', 2), ("ignored = []", 2), ('ignore = "detach"', 2),
    ],
)  # fmt: skip
def test_settings(gradwhy: Run, program: Write, tmp_path: Path, table: str, code: int) -> None:
    program(CUT)
    (tmp_path / "pyproject.toml").write_text(f"[tool.gradwhy]\n{table}\n")
    assert gradwhy("check", ".").returncode == code


def test_options_choose_causes(gradwhy: Run, program: Write) -> None:
    program(CUT)
    assert gradwhy("check", "--ignore", "detach", "train.py").returncode == 0
    assert gradwhy("check", "--select", "argmax,item", "train.py").returncode == 0
    assert gradwhy("check", "--select", "nonsense", "train.py").returncode == 2


def test_a_file_that_does_not_parse_is_told_and_the_others_are_checked(
    gradwhy: Run, program: Write, tmp_path: Path
) -> None:
    program(CUT)
    program("import torch\nx.backward(\n", "broken.py")
    (tmp_path / "strange.py").write_bytes(b"# -*- coding: nonsense -*-\nimport torch\nx.backward()\n")
    (tmp_path / "broken.ipynb").write_text("{torch")
    run = gradwhy("check", "--format", "concise", ".")
    assert run.returncode == 1
    said = run.stdout.splitlines()
    assert len(said) == 4
    assert "broken.py:2:11: this file does not parse; it was left out" in said


def test_encodings_and_line_ends(gradwhy: Run, tmp_path: Path) -> None:
    lines = [
        "# -*- coding: gbk -*-",
        "import torch",
        "w = torch.ones(3, requires_grad=True)",
        "损失 = w.detach().sum()",
    ]
    code = "\r\n".join([*lines, "损失.backward()", ""])
    (tmp_path / "train.py").write_bytes(code.encode("gbk"))
    run = gradwhy("check", "--format", "concise", "train.py")
    assert run.stdout == "train.py:4:6: error[detach] `损失` has no gradient path to any parameter\n"


def test_chinese(gradwhy: Run, program: Write) -> None:
    program(CUT)
    assert "`loss` 没有通往任何参数的梯度路径" in gradwhy("check", "--lang", "zh", "train.py").stdout


def test_wrong_usage(gradwhy: Run) -> None:
    assert gradwhy("check").returncode == 2
    run = gradwhy("check", "nothing.py")
    assert run.returncode == 2
    assert "there is no file or folder nothing.py" in run.stderr


def test_what_has_not_changed_is_not_looked_at_again(gradwhy: Run, program: Write, tmp_path: Path) -> None:
    path = program(CUT)
    first = gradwhy("check", ".")
    cache = next((tmp_path / ".gradwhy_cache").glob("*.json"))
    assert (tmp_path / ".gradwhy_cache" / ".gitignore").read_text() == "*\n"
    again = gradwhy("check", ".")
    assert (again.returncode, again.stdout) == (first.returncode, first.stdout)
    path.write_text(_dedented(FINE))
    assert gradwhy("check", ".").returncode == 0
    cache.write_text("{nonsense")
    assert gradwhy("check", ".").returncode == 0


def test_several_processes_say_the_same(gradwhy: Run, program: Write) -> None:
    for number in range(60):
        program(CUT if number % 7 == 0 else FINE, f"part{number:02}.py")
    one = gradwhy("check", "--no-cache", "--jobs", "1", "--format", "concise", ".")
    two = gradwhy("check", "--no-cache", "--jobs", "2", "--format", "concise", ".")
    assert one.stdout == two.stdout
    assert one.stdout.count("\n") == 9


def test_nothing_of_torch_is_imported_and_nothing_of_the_program_is_run(program: Write, tmp_path: Path) -> None:
    program(CUT + "\n    open('ran', 'w').close()\n")
    code = """
import sys
from gradwhy.cli.main import cli
cli.main(['check', 'train.py'], standalone_mode=False)
print('torch' in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "False"
    assert not (tmp_path / "ran").exists()


NESTED = "\n".join(f"{' ' * i}for i{i} in range(100):" for i in range(18))
ITSELF = """
class M(torch.nn.Module):
    def __init__(s):
        s.me = s

    def forward(s, x):
        return s(x)


m = M()
torch.optim.SGD(m.parameters(), 1)
m(torch.ones(3)).backward()
"""
HARD: list[Any] = [
    "x = " + "(" * 90 + "1" + ")" * 90 + "\nx.backward()\n",
    "def f(n):\n    return f(n - 1) + f(n - 2)\nf(torch.ones(3)).backward()\n",
    "f = lambda g: g(g)\nf(f).backward()\n",
    "x = []\nx.append(x)\ntorch.stack(x).backward()\n",
    "class A(A): pass\nA().backward()\n",
    "while True:\n    while True:\n        while True:\n            torch.ones(3).backward()\n",
    f"{NESTED}\n{' ' * 18}torch.ones(3).backward()\n",
    "x = torch.ones(3)\n" + "x = x + x\n" * 3000 + "x.backward()\n",
    "d = {}\nd['d'] = d\ntorch.stack(list(d.values())).backward()\n",
    ITSELF,
    "def g():\n    yield from g()\nfor x in g():\n    x.backward()\n",
    "+".join(["x"] * 4000) + "\nx.backward()\n",
]


@pytest.mark.parametrize("code", HARD, ids=range(len(HARD)))
def test_no_program_hangs_or_breaks_it(gradwhy: Run, tmp_path: Path, code: str) -> None:
    (tmp_path / "train.py").write_text(f"import torch\n{code}")
    run = gradwhy("check", "--format", "json", "train.py")
    assert run.returncode in (0, 1), run.stderr
    data = json.loads(run.stdout)
    assert data["notes"] == []
