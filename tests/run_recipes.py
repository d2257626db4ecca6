"""Runs programs in one process that has imported torch, a fork for each: ``python``, ``run`` or ``audit`` and a path a line on
standard input, one JSON line for each on standard output: the causes and lines that are named, and how the program ended."""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
from pathlib import Path

import torch._dynamo  # noqa: F401  What optimizers import when they are first used.
from run_programs import forked

from gradwhy.runtime import launch


def python(program: Path, answer: Path) -> None:
    """In a fork: the program without gradwhy."""
    child = os.fork()
    if child == 0:
        ended = None
        sys.stdout = sys.stderr = io.StringIO()
        try:
            launch.run(launch.Program(str(program)))
        except BaseException as error:
            ended = f"{type(error).__name__}: {error}"
        answer.write_text(json.dumps({"findings": [], "notes": [], "ended": ended}))
        os._exit(0)
    os.waitpid(child, 0)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for line in sys.stdin:
            engine, _, path = line.strip().partition(" ")
            answer = Path(folder, "answer.json")
            answer.unlink(missing_ok=True)
            if engine == "python":
                python(Path(path), answer)
            else:
                forked(Path(path), answer, engine == "audit")
            told = json.loads(answer.read_text()) if answer.exists() else {"findings": [], "ended": "no answer"}
            named = [[finding["cause"], finding["at"]["line"]] for finding in told["findings"]]
            print(json.dumps({"named": named, "notes": told.get("notes", []), "ended": told["ended"]}), flush=True)


if __name__ == "__main__":
    main()
