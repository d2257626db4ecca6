"""Runs many programs under gradwhy in one process that has imported torch: a fork for each, one JSON line for each.

usage: python run_programs.py [--audit] FOLDER PROGRAM...
       python run_programs.py --serve      one program's path a line on standard input, one report a line on standard output
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy  # noqa: F401
import torch

from gradwhy.findings import Edit, wire
from gradwhy.runtime import launch, session
from gradwhy.runtime.audit import session as auditing
from gradwhy.source import edits

torch.set_num_threads(1)


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
    audit = sys.argv[1] == "--audit"
    out, *programs = map(Path, sys.argv[1 + audit :])
    for program in programs:
        report(program, out / f"{program.stem}.json", audit)


if __name__ == "__main__":
    main()
