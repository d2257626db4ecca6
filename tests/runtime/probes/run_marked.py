"""Runs programs under gradwhy, each in a fork of one process that has torch: one JSON line for each.

usage: python run_marked.py PROGRAMS.json FOLDER   (PROGRAMS: {"name": {"text": ..., "nan": bool, "trace": "auto"}})
"""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import torch
import torch.func

from gradwhy.findings import wire
from gradwhy.runtime import launch, session
from gradwhy.source import text

torch.set_num_threads(1)


def run(program: dict[str, object], folder: Path, answer: Path) -> None:
    """In a fork: the report of one program and how it ended."""
    folder.mkdir()
    (folder / "train.py").write_text(str(program["text"]))
    os.chdir(folder)
    text.STARTED_IN = str(folder)
    sys.stdout = sys.stderr = io.StringIO()
    outcome = session.run(launch.Program("train.py"), str(program["trace"]), bool(program["nan"]))  # type: ignore[arg-type]
    data = wire.to_data(outcome.report, lambda message: message.id)
    data["ended"] = type(outcome.error).__name__ if outcome.error is not None else None
    answer.write_text(json.dumps(data))


def main() -> None:
    programs, folder = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    for number, program in enumerate(programs.values()):
        child = os.fork()
        if child == 0:
            try:
                run(program, folder / f"{number}", folder / f"{number}.json")
            finally:
                os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
