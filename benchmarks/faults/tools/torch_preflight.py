"""torch-preflight: ``check`` on the source, and ``check --fix`` for the corrected text."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from answers import Answer, Case, Said, alone, launch

ABOUT = "`torch-preflight check --format json`, and `--fix`"
PACKAGE = "torch-preflight"
WAYS = ("torch-preflight",)
COMMAND = [str(Path(sys.executable).with_name("torch-preflight")), "check", "--jobs", "1"]

# The cause that each rule states; rules about speed and memory limits state none of ours.
REASONS = {"TG001": "loss-accumulated", "TG003": "missing-zero_grad", "TG011": "eval-decorated"}


def examine(program: Path, case: Case, way: str) -> Answer:
    with alone(program) as script:
        ended = launch([*COMMAND, "--format", "json", script.name], script.parent)
        try:
            found = json.loads(ended.stdout)["diagnostics"]
        except (ValueError, KeyError):
            return Answer(failed=f"no report, exit code {ended.returncode}")
        if any(each["fixable"] for each in found):
            launch([*COMMAND, "--fix", script.name], script.parent)
        text = script.read_text("utf-8")
    said = [
        Said(
            each["line"],
            tuple(cause for code, cause in REASONS.items() if code == each["code"]),
            f"{each['code']} {each['message']}",
            each["severity"] in ("error", "warning"),
        )
        for each in found
    ]
    return Answer(said, corrected=text if text != program.read_text("utf-8") else None)
