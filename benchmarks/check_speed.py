"""Lines a second of ``gradwhy check`` beside ``ast.parse`` alone, ruff and TorchFix on the same files.

usage: python benchmarks/check_speed.py FOLDER [--jobs N]

The files are those under FOLDER that mention torch. gradwhy is timed three ways: its own work in one process, the command
with its default number of processes, and the command a second time with nothing changed.
"""

from __future__ import annotations

import argparse
import ast
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gradwhy.source import text, walking
from gradwhy.static import looking


def measured(what: str, lines: int, seconds: float, base: float | None) -> None:
    beside = f"{seconds / base:8.2f} x ast.parse" if base else ""
    print(f"{what:34} {seconds:8.2f} s {lines / max(seconds, 1e-9):12,.0f} lines/s {beside}")


def command(arguments: list[str], folder: Path) -> float | None:
    """The seconds that a command takes, or None where it isn't there."""
    if shutil.which(arguments[0]) is None:
        return None
    started = time.perf_counter()
    subprocess.run(arguments, cwd=folder, capture_output=True, check=False)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    every = list(walking.files([str(asked.folder)]))
    torch_files: list[tuple[str, str]] = []
    skipped = 0.0
    for file in every:
        data = Path(file).read_bytes()
        started = time.perf_counter()
        mentions = b"torch" in data
        skipped += time.perf_counter() - started
        if mentions and file.endswith(".py"):
            try:
                torch_files.append((file, text.decoded(data)))
            except (SyntaxError, UnicodeDecodeError, LookupError):
                continue
    lines = sum(content.count("\n") for _, content in torch_files)
    print(
        f"{len(every)} files, {len(torch_files)} of them mention torch, with {lines:,} lines; the first look: {skipped:.3f} s"
    )

    started = time.perf_counter()
    for _, content in torch_files:
        try:
            ast.parse(content)
        except (SyntaxError, ValueError, RecursionError):
            continue
    base = time.perf_counter() - started
    measured("ast.parse alone", lines, base, None)

    started = time.perf_counter()
    slowest = 0.0
    for file, content in torch_files:
        before = time.perf_counter()
        looking.look_at_text(file, content, strict=False)
        slowest = max(slowest, time.perf_counter() - before)
    measured("gradwhy, one process", lines, time.perf_counter() - started, base)
    print(f"{'the slowest file':34} {slowest:8.2f} s")

    with tempfile.TemporaryDirectory() as cache:
        gradwhy = [
            sys.executable,
            "-m",
            "gradwhy",
            "check",
            "--jobs",
            str(asked.jobs),
            "--format",
            "concise",
            str(asked.folder.absolute()),
        ]
        for what in (f"gradwhy check, {asked.jobs} processes", "the same again, nothing changed"):
            seconds = command(gradwhy, Path(cache))
            assert seconds is not None
            measured(what, lines, seconds, base)
    python = str(Path(sys.executable).parent)
    files = [str(Path(file).absolute()) for file, _ in torch_files]
    for what, arguments in (
        ("ruff, its default rules", [f"{python}/ruff", "check", "--isolated", "--no-cache", "--quiet", *files]),
        ("TorchFix", [f"{python}/torchfix", "--select", "ALL", *files]),
    ):
        seconds = command(arguments, Path.cwd())
        if seconds is None:
            print(f"{what:34} not installed")
        else:
            measured(what, lines, seconds, base)


if __name__ == "__main__":
    main()
