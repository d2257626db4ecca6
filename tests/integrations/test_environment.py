"""``GRADWHY=1 python train.py``: by one file beside the packages, which does nothing without the variable."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from gradwhy.cli.hook import LINE

Write = Callable[..., Path]
Run = Callable[..., "CompletedProcess[str]"]

FAILS = "import torch\ntorch.nn.Linear(3, 1)(torch.ones(4, 3)).argmax(1).float().mean().backward()\n"


@pytest.fixture
def hooked(tmp_path: Path, program: Write) -> Callable[..., CompletedProcess[str]]:
    """Runs a program with a Python that has read the file's line at its start."""

    def run(text: str, *options: str, **environment: str) -> CompletedProcess[str]:
        import os

        path = program(text)
        start = tmp_path / "sitecustomize.py"
        start.write_text(LINE, "utf-8")
        clean = {k: v for k, v in os.environ.items() if k not in ("GRADWHY", "LANG", "LC_ALL", "COLUMNS")}
        return subprocess.run(
            [sys.executable, *options, str(path)], cwd=tmp_path, capture_output=True, text=True,
            env=clean | {"PYTHONPATH": str(tmp_path), "OMP_NUM_THREADS": "1"} | environment,
        )  # fmt: skip

    return run


def test_with_the_variable_the_program_is_watched(hooked: Callable[..., CompletedProcess[str]]) -> None:
    run = hooked(FAILS, GRADWHY="1")
    assert run.stderr.startswith("Traceback") and "error[argmax]" in run.stderr and run.returncode == 1


@pytest.mark.parametrize("value", ["", "0"])
def test_without_it_nothing_of_ours_is_loaded(hooked: Callable[..., CompletedProcess[str]], value: str) -> None:
    run = hooked("import sys\nprint(any(m.startswith('gradwhy') for m in sys.modules))\n" + FAILS, GRADWHY=value)
    assert run.stdout == "False\n" and "argmax]" not in run.stderr


def test_a_program_without_torch_hears_nothing_of_us(hooked: Callable[..., CompletedProcess[str]]) -> None:
    run = hooked(
        "import sys\nprint(sys.excepthook is sys.__excepthook__, 'gradwhy.runtime.embedded' in sys.modules)\n",
        GRADWHY="1",
    )
    assert (run.stdout, run.stderr) == ("True False\n", "")


def test_never_records_nothing_and_still_answers(hooked: Callable[..., CompletedProcess[str]]) -> None:
    assert "likely[argmax]" in hooked(FAILS, GRADWHY="never").stderr


def test_gradwhy_run_beside_it_reports_once(hooked: Callable[..., CompletedProcess[str]]) -> None:
    run = hooked(FAILS, "-m", "gradwhy", "run", GRADWHY="1")
    assert run.stderr.count("error[argmax]") == 1


def test_where_gradwhy_was_uninstalled_the_line_does_nothing() -> None:
    run = subprocess.run(
        [sys.executable, "-S", "-E", "-c", LINE + "print('well')"], capture_output=True, text=True, env={"GRADWHY": "1"}
    )
    assert (run.stdout, run.stderr) == ("well\n", "")


def test_the_command_writes_the_file_and_takes_it_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import sysconfig

    from gradwhy.cli.hook import command

    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    told = []
    for action in ("status", "install", "status", "remove", "remove"):
        assert command.main([action, "--lang", "en"], standalone_mode=False) == 0
        told.append(
            (capsys.readouterr().out.startswith("gradwhy: GRADWHY=1 python"), (tmp_path / "gradwhy.pth").exists())
        )
    assert told == [(False, False), (True, True), (True, True), (False, False), (False, False)]
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path / "nowhere"))
    assert command.main(["install", "--lang", "en"], standalone_mode=False) == 2
    assert "gradwhy: " in capsys.readouterr().err
