"""``torch.autograd.set_detect_anomaly(True)`` at the top of the program.

It says the line of the forward call whose backward failed; then come the traceback and torch's warnings, as in plain Python.
"""

from __future__ import annotations

import re
from pathlib import Path

from answers import FRAME, Answer, Case, Said, alone, python, traceback_of, warnings_of

ABOUT = "`torch.autograd.set_detect_anomaly(True)` at the top: the forward call that it names, then as plain Python"
PACKAGE = "torch"
WAYS = ("detect_anomaly",)
FORWARD = re.compile(
    r"Error detected in (\w+)\. Traceback of forward call that caused the error:\n(.*?)\(Triggered internally", re.S
)
ENABLED = "Anomaly Detection has been enabled"


def examine(program: Path, case: Case, way: str) -> Answer:
    with alone(program) as script:
        text = program.read_text("utf-8")
        script.write_text(f"import torch; torch.autograd.set_detect_anomaly(True); {text}", "utf-8")
        ended = python(script, warn=True)
    failure = traceback_of(ended.stderr)
    said = []
    for operation, stack in FORWARD.findall(ended.stderr):
        frames = [int(number) for number in FRAME.findall(stack)]
        if frames:
            reasons = failure[0].causes if failure else ()
            said.append(Said(frames[-1], reasons, f"the forward call of {operation}"))
    others = [each for each in warnings_of(ended.stderr) if not each.text.startswith((ENABLED, "Error detected in"))]
    return Answer([*said, *failure, *others])
