"""Runs many programs under gradwhy in one process that has imported torch: a fork for each, one JSON line for each.

usage: python run_programs.py [--audit] FOLDER PROGRAM...
       python run_programs.py --serve      one program's path a line on standard input, one report a line on standard output
       python run_programs.py --plain FILE     FILE is a JSON list of program texts; prints what each said, without gradwhy
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import shutil
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy  # noqa: F401
import torch

from gradwhy.findings import Edit, wire
from gradwhy.runtime import launch, session
from gradwhy.runtime.audit import session as auditing
from gradwhy.source import edits

torch.set_num_threads(1)
# What optimizers and the compiler import when they are first used: once here, and not in each fork. Compiling something would do
# too, but `torch.compile` changes the process: distributions don't check their parameters after it.
FIRST_USED = (
    "torch._dynamo.backends.debugging",
    "torch._dynamo.repro.after_aot",
    "torch._functorch.aot_autograd",
    "torch._inductor.kernel.conv",
    "torch.export._trace",
)


def run(program: Path, answer: Path, audit: bool = False) -> None:
    """In a fork: the report of one program, run alone as ``train.py`` in an empty folder."""
    folder = Path(tempfile.mkdtemp())
    shutil.copy(program, folder / "train.py")
    os.chdir(folder)
    from gradwhy.source import text

    text.STARTED_IN = str(folder)
    sys.stdout = sys.stderr = io.StringIO()
    started = launch.Program("train.py")
    outcome = auditing.audit(started, auditing.Plan()).outcome if audit else session.run(started)
    data = wire.to_data(outcome.report, lambda message: message.id)
    data["ended"] = type(outcome.error).__name__ if outcome.error is not None else None
    answer.write_text(json.dumps(data))
    shutil.rmtree(folder, ignore_errors=True)


def report(program: Path, answer: Path, audit: bool = False) -> None:
    """Run a program in a fork and wait for its answer; "repaired" is the report of it with the first edits that it offers."""
    forked(program, answer, audit)
    data = json.loads(answer.read_text()) if answer.exists() else {"findings": []}
    fixes = [fix for finding in data["findings"] for fix in finding["fixes"] if fix["edits"]]
    if not fixes:
        return
    with tempfile.TemporaryDirectory() as folder:
        edited, again = Path(folder, program.name), Path(folder, "again.json")
        edited.write_text(
            edits.apply(program.read_text("utf-8"), [Edit(**edit) for edit in fixes[0]["edits"]]), "utf-8"
        )
        forked(edited, again, audit)
        data["repaired"] = json.loads(again.read_text()) if again.exists() else None
    answer.write_text(json.dumps(data))


def forked(program: Path, answer: Path, audit: bool) -> None:
    child = os.fork()
    if child == 0:
        try:
            run(program, answer, audit)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def said(code: str) -> dict[str, Any]:
    """What a program says when it is run alone, in a fork, in an empty folder.

    "raised" is "Class: text", or None where it ends well; "warned" the same of each warning; "logged" its standard error.
    """
    with tempfile.TemporaryDirectory() as folder:
        answer, log = Path(folder, "answer.json"), Path(folder, "log.txt")
        child = os.fork()
        if child == 0:
            try:
                _say(code, answer, log)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        data: dict[str, Any] = {"raised": "it ended without an answer", "warned": []}
        if answer.exists():
            data = json.loads(answer.read_text("utf-8"))
        data["logged"] = log.read_text("utf-8", "replace")
        return data


def _say(code: str, answer: Path, log: Path) -> None:
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT), 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    place = answer.parent / "here"
    place.mkdir()
    os.chdir(place)
    raised = None
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            exec(compile(code, "train.py", "exec"), {"__name__": "__main__"})
        except BaseException as error:
            raised = f"{type(error).__name__}: {error}"
    told = [f"{each.category.__name__}: {each.message}" for each in warned]
    answer.write_text(json.dumps({"raised": raised, "warned": told}), "utf-8")


def plain(programs: list[str]) -> None:
    """Print what each program says."""
    for name in FIRST_USED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    print(json.dumps([said(code) for code in programs]))


def serve() -> None:
    """Answer until standard input ends."""
    with tempfile.TemporaryDirectory() as folder:
        for line in sys.stdin:
            answer = Path(folder, "answer.json")
            answer.unlink(missing_ok=True)
            report(Path(line.strip()), answer)
            print(answer.read_text() if answer.exists() else "null", flush=True)


def main() -> None:
    if sys.argv[1] == "--serve":
        serve()
        return
    if sys.argv[1] == "--plain":
        plain(json.loads(Path(sys.argv[2]).read_text("utf-8")))
        return
    audit = sys.argv[1] == "--audit"
    out, *programs = map(Path, sys.argv[1 + audit :])
    for program in programs:
        report(program, out / f"{program.stem}.json", audit)


if __name__ == "__main__":
    main()
