"""What the tests share: running a program with and without gradwhy, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests have counted, in ``record_property("told", …)``."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            if name == "told" and report.when == "call":
                terminalreporter.write_line(f"{report.nodeid.partition('::')[0]}: {value}")


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Path]:
    """Writes a program into the test's own folder."""

    def write(text: str, name: str = "train.py") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), "utf-8")
        return path

    return write


def launch(arguments: list[str], folder: Path, **options: object) -> subprocess.CompletedProcess[str]:
    environment = {
        k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "LANG", "LC_ALL", "NO_COLOR", "COLUMNS")
    }
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"} | options.pop("env", {})  # type: ignore[operator]
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        **options,  # type: ignore[call-overload]
    )


@pytest.fixture
def python(tmp_path: Path) -> Run:
    """Runs ``python ...`` in the test's own folder."""
    return lambda *arguments, **options: launch([str(a) for a in arguments], tmp_path, **options)


@pytest.fixture
def gradwhy(tmp_path: Path) -> Run:
    """Runs ``python -m gradwhy ...`` in the test's own folder."""
    return lambda *arguments, **options: launch(["-m", "gradwhy", *map(str, arguments)], tmp_path, **options)


@pytest.fixture(scope="session")
def report_of() -> Iterator[Callable[[Path], dict[str, Any]]]:
    """The report of a program by its path, from one process that has torch and forks for each: quicker than a start for each."""
    command = [sys.executable, "-W", "ignore", Path(__file__).parent / "run_programs.py", "--serve"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdin is not None and process.stdout is not None

        def ask(path: Path) -> dict[str, Any]:
            assert process.stdin is not None and process.stdout is not None
            print(path, file=process.stdin, flush=True)
            answer = json.loads(process.stdout.readline())
            assert isinstance(answer, dict), "the program's process gave no answer"
            return answer

        yield ask
        process.stdin.close()


@pytest.fixture(scope="session")
def say(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Sequence[str]], list[dict[str, Any]]]:
    """What each of many programs raises, warns and logs without gradwhy; each in a fork of one process that has torch."""

    def ask(programs: Sequence[str]) -> list[dict[str, Any]]:
        order = tmp_path_factory.mktemp("programs") / "programs.json"
        order.write_text(json.dumps(list(programs)), "utf-8")
        command = [sys.executable, "-W", "ignore", Path(__file__).parent / "run_programs.py", "--plain", order]
        done = subprocess.run(
            command, env=os.environ | {"OMP_NUM_THREADS": "1"}, stdout=subprocess.PIPE, text=True, check=True
        )
        answers: list[dict[str, Any]] = json.loads(done.stdout)
        return answers

    return ask
