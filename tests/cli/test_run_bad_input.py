"""What ``gradwhy run`` says when something is missing, wrong or not its affair."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Run

Write = Callable[..., Path]

CUT = """
    import torch
    w = torch.ones(3, requires_grad=True)
    loss = (w * 2).detach().sum()
    loss.backward()
"""


def test_a_script_that_is_not_there(gradwhy: Run) -> None:
    run = gradwhy("run", "nothing.py")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "gradwhy: there is no file nothing.py\n"


def test_a_folder_without_a_main(gradwhy: Run, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    run = gradwhy("run", "folder")
    assert run.returncode == 2
    assert "folder without a __main__.py" in run.stderr


def test_no_script_and_unknown_options(gradwhy: Run) -> None:
    assert gradwhy("run").returncode == 2
    assert gradwhy("nonsense").returncode == 2
    assert "Run a script" in gradwhy("--help").stdout


def test_an_unrelated_error_adds_one_line_at_most(program: Write, gradwhy: Run) -> None:
    program("import torch\ntorch.ones(3) @ torch.ones(4)")
    run = gradwhy("run", "train.py")
    assert run.returncode == 1
    assert [line for line in run.stderr.splitlines() if line.startswith("gradwhy")] == run.stderr.splitlines()[-1:]


def test_torch_that_is_not_installed(program: Write, tmp_path: Path) -> None:
    program("print('never')")
    code = "import sys; sys.modules['torch'] = None; sys.argv[0] = 'gradwhy'; from gradwhy.cli.main import main; main()"
    run = subprocess.run([sys.executable, "-c", code, "run", "train.py"], cwd=tmp_path, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (2, "")
    assert "there is no torch in this Python" in run.stderr


def test_an_output_that_cannot_be_written(program: Write, gradwhy: Run) -> None:
    program(CUT + '    print("not reached")\n')
    run = gradwhy("run", "--output", "no/such/folder/report.txt", "train.py")
    assert run.returncode == 1
    assert "can't be written" in run.stderr
    assert "error[detach]" in run.stderr, "the report is not lost"


def test_an_output_is_written_whole(program: Write, gradwhy: Run, tmp_path: Path) -> None:
    program(CUT)
    run = gradwhy("run", "--format", "json", "--output", "report.json", "train.py")
    # The words of the report's own; a path in the traceback may have the name in it.
    assert not [
        line for line in run.stderr.splitlines() if line.startswith(("gradwhy", "error[", "likely[", "warning["))
    ]
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert [finding["cause"] for finding in report["findings"]] == ["detach"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.json", "train.py"]


def test_the_output_stays_where_it_was_asked_for(program: Write, gradwhy: Run, tmp_path: Path) -> None:
    program("import os\nos.makedirs('elsewhere')\nos.chdir('elsewhere')\n" + CUT.replace("    ", "").lstrip())
    gradwhy("run", "--format", "json", "--output", "report.json", "train.py")
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert report["findings"][0]["at"]["file"] == "train.py"


CRASHES = [
    ("gradwhy.runtime.probes.no_graph", "diagnose"),
    ("gradwhy.runtime.recorder", "Recorder._untracked"),
    ("gradwhy.runtime.journal", "Journal.open_scope"),
    ("gradwhy.runtime.watch", "Watch.start"),
    ("gradwhy.runtime.names", "Names.__init__"),
]


@pytest.mark.parametrize("where", CRASHES, ids=lambda where: where[1])
def test_a_crash_inside_gradwhy_is_a_note(program: Write, tmp_path: Path, where: tuple[str, str]) -> None:
    program("import torch\nwith torch.no_grad():\n    torch.ones(1)\n" + CUT.replace("    ", "").lstrip())
    module, name = where
    code = (
        "import importlib, sys\n"
        "from gradwhy.runtime import arrival\n"
        "def crash(*a, **k): raise LookupError('on purpose')\n"
        "original = arrival.when_imported\n"
        "def when_imported(torch, then):\n"
        "    def broken():\n"
        f"        owner = importlib.import_module({module!r})\n"
        f"        *owners, last = {name!r}.split('.')\n"
        "        for each in owners: owner = getattr(owner, each)\n"
        "        setattr(owner, last, crash)\n"
        "        then()\n"
        "    return original(torch, broken)\n"
        "arrival.when_imported = when_imported\n"
        "sys.argv[0] = 'gradwhy'\n"
        "from gradwhy.cli.main import main; main()\n"
    )
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, "-c", code, "run", "train.py"], cwd=tmp_path, capture_output=True, text=True, env=environment
    )
    plain = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert run.returncode == 1
    assert run.stderr.startswith(plain.stderr), "the program's own traceback stands"
    assert "LookupError: on purpose" in " ".join(run.stderr.split())
    assert "your program and its results are untouched" in " ".join(run.stderr.split())


def test_a_part_of_the_analysis_that_fails_leaves_the_others(program: Write, tmp_path: Path) -> None:
    program(CUT)
    code = (
        "import sys\n"
        "from gradwhy.static import remedy\n"
        "def crash(*a): raise LookupError('on purpose')\n"
        "remedy.fixes = crash\n"
        "sys.argv[0] = 'gradwhy'\n"
        "from gradwhy.cli.main import main; main()\n"
    )
    run = subprocess.run([sys.executable, "-c", code, "run", "train.py"], cwd=tmp_path, capture_output=True, text=True)
    assert "error[detach]" in run.stderr
    assert "LookupError: on purpose" in " ".join(run.stderr.split())


def test_text_of_the_program_is_data(program: Write, gradwhy: Run) -> None:
    program(
        "import torch\nw = torch.ones(3, requires_grad=True)\n"
        "name = '[bold red]x[/] \\x1b[31m'; loss = (w * 2).detach().sum()  # [link=x]\x1b[2J\nloss.backward()\n"
    )
    run = gradwhy("run", "train.py")
    assert "[bold red]x[/]" in run.stderr
    assert "\x1b" not in run.stderr.partition("error[detach]")[2]


def test_a_stream_that_cannot_take_the_characters(program: Write, gradwhy: Run) -> None:
    program(
        "import torch\n权重 = torch.ones(3, requires_grad=True)\n损失 = (权重 * 2).detach().sum()\n损失.backward()\n"
    )
    run = gradwhy("run", "train.py", env={"PYTHONIOENCODING": "ascii"})
    assert run.returncode == 1
    assert "error[detach]" in run.stderr
