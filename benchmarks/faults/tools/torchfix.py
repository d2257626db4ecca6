"""TorchFix: its default rules, and all of its rules."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from answers import Answer, Case, Said, alone, launch

ABOUT = "`torchfix train.py`, `torchfix --select=ALL train.py`, and `--fix`"
PACKAGE = "TorchFix"
WAYS: dict[str, list[str]] = {"TorchFix": [], "TorchFix --select=ALL": ["--select=ALL"]}
COMMAND = [str(Path(sys.executable).with_name("torchfix")), "--jobs", "1"]
REPORTED = re.compile(r"(?m)^train\.py:(\d+):\d+: (TOR\d+) (?:\[\*\] )?(.*)$")

# A misspelt `require_grad` is all that it can say of our causes; the cases call what comes of it frozen-part or frozen-all.
REASONS = {"TOR002": ("frozen-part", "frozen-all")}


def examine(program: Path, case: Case, way: str) -> Answer:
    with alone(program) as script:
        ended = launch([*COMMAND, *WAYS[way], script.name], script.parent)
        if "[*]" in ended.stdout:
            launch([*COMMAND, *WAYS[way], "--fix", script.name], script.parent)
        text = script.read_text("utf-8")
    said = [
        Said(
            int(line),
            tuple(cause for cause in REASONS.get(code, ()) if cause == case.facts["cause"]),
            f"{code} {message}",
        )
        for line, code, message in REPORTED.findall(ended.stdout)
    ]
    return Answer(said, corrected=text if text != program.read_text("utf-8") else None)
