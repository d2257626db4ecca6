"""Runs the catalogue's programs on the torch that is installed, each in a fork of this process. POSIX only."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from gradwhy.catalog.programs import Program
from gradwhy.catalog.versions import Said

SCRIPT = "train.py"
"""The name that programs have in their own tracebacks."""

# What optimizers and the compiler import when they are first used: not in each fork anew.
_IMPORTED_ONCE = ("torch._dynamo.backends.debugging", "torch._functorch.aot_autograd")
_SECONDS = 120
_SAID_AT_MOST = 600
_TRIGGERED = re.compile(r"\s*\(Triggered internally at .*?\)", re.S)
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}|(?<=at )[0-9a-f]{12,}\b")
# Where packages are is the machine's affair.
_INSTALLED = re.compile(r'(?<=[( "`])/[^\s"]*?/lib/python\d\.\d+/(?:site-packages/)?')


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended: what is stored of it; its traceback, "" where it ended well, paths of packages cut to ``.../``;
    all that it warned and logged."""

    said: Said
    traceback: str = ""
    warned: tuple[str, ...] = ()
    logged: str = ""

    @property
    def texts(self) -> list[str]:
        """All that it said: the exception that ended it, or "", first."""
        return [self.said.raised, *self.warned, self.logged]


def run_all(programs: Iterable[Program]) -> Iterator[tuple[Program, Ended]]:
    """Run each program by itself."""
    for name in _IMPORTED_ONCE:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        for program in programs:
            # Some builds of torch don't survive a fork in all that they do: such a program gets a Python of its own.
            yield program, _run(program, Path(folder)) or _run_alone(program, Path(folder))
    torch.set_num_threads(threads)


def _run(program: Program, folder: Path) -> Ended | None:
    """How it ended, or None where its process did not come to an end of its own."""
    answer, log = folder / "answer.json", folder / "log.txt"
    answer.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(_SECONDS)
            # What C++ writes by itself is not Python's standard error.
            os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            torch.manual_seed(0)
            os.chdir(tempfile.mkdtemp(dir=folder))
            answer.write_text(json.dumps(_ended(program)))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    if not answer.is_file():
        return None
    raised, warned, shown = json.loads(answer.read_text())
    # A release may have a word to say about any function; it matters where it is what the program shows.
    kept = warned if program.kind == "wrong" and not raised else ()
    logged = " ".join(log.read_text("utf-8", "replace").split())
    return Ended(Said(raised, tuple(kept)), shown, tuple(warned), logged)


def _run_alone(program: Program, folder: Path) -> Ended:
    order, out = folder / "order.pickle", folder / "ended.pickle"
    order.write_bytes(pickle.dumps((program, str(folder))))
    script = (
        "import pickle, sys; from pathlib import Path; from gradwhy.runtime import catalogue;"
        "program, folder = pickle.loads(Path(sys.argv[1]).read_bytes());"
        "Path(sys.argv[2]).write_bytes(pickle.dumps(catalogue._run(program, Path(folder))))"
    )
    subprocess.run([sys.executable, "-c", script, order, out], check=True, stdin=subprocess.DEVNULL)
    ended: Ended | None = pickle.loads(out.read_bytes())
    return ended or Ended(Said("the process ended by itself"))


def _ended(program: Program) -> tuple[str, list[str], str]:
    Path(SCRIPT).write_text(program.code, "utf-8")
    raised, shown = "", ""
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        sys.stderr = os.fdopen(os.dup(2), "w", buffering=1)
        try:
            exec(compile(program.code, SCRIPT, "exec"), {"__name__": "__main__", "__file__": SCRIPT})
        except BaseException as error:
            raised = said(error)
            assert error.__traceback__ is not None
            # From the program's own frame on.
            lines = traceback.format_exception(type(error), error, error.__traceback__.tb_next)
            shown = _INSTALLED.sub(".../", "".join(lines))
    warned = [_plain(f"{each.category.__name__}: {each.message}") for each in caught]
    return raised, list(dict.fromkeys(warned)), shown


def said(error: BaseException) -> str:
    """An exception on one line, without what differs from run to run."""
    return _plain(f"{type(error).__name__}: {error}")


def _plain(text: str) -> str:
    text = _INSTALLED.sub(".../", _ADDRESS.sub("0x…", _TRIGGERED.sub("", text)))
    return " ".join(text.split())[:_SAID_AT_MOST]
