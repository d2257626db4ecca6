"""What the tests share: running a program with and without gradwhy, each in a process of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gradwhy.catalog.programs import Program

if TYPE_CHECKING:
    from gradwhy.runtime.catalogue import Ended

Run = Callable[..., "subprocess.CompletedProcess[str]"]


# ``make realworld`` runs these, in an environment that has what they need.
REALWORLD = ("lightning", "transformers", "peft", "accelerate", "timm", "torchvision")
collect_ignore_glob = [] if all(importlib.util.find_spec(name) for name in REALWORLD) else ["realworld/*"]


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Path]:
    """Writes a program into the test's own folder."""

    def write(text: str, name: str = "train.py") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), "utf-8")
        return path

    return write


@pytest.fixture
def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says what tests have counted, each under a name of its own."""
    counts: dict[str, int] = {}
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            if isinstance(value, int):
                counts[name] = counts.get(name, 0) + value
    for name, count in counts.items():
        terminalreporter.write_line(f"{name}: {count}")


@pytest.fixture(scope="session")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[Program, Ended]:
    """How each program of the catalogue ends. In a process of its own: torch gives many a warning once in a process."""
    out = tmp_path_factory.mktemp("catalogue") / "ended.pickle"
    script = (
        "import pickle, sys; from gradwhy.catalog import programs; from gradwhy.runtime import catalogue;"
        "pickle.dump(dict(catalogue.run_all(programs.every())), open(sys.argv[1], 'wb'))"
    )
    subprocess.run([sys.executable, "-c", script, out], check=True, stdin=subprocess.DEVNULL)
    results: dict[Program, Ended] = pickle.loads(out.read_bytes())
    return results
