"""``torch.utils._debug_mode.DebugMode(record_stack_trace=True)`` around the program, and the lines in its dump.

It gives no verdict: what is said is what plain Python says, what is shown are the lines of the dump. Where nothing is raised the
program is recorded up to its second optimizer step, else up to its end.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from answers import HERE, Answer, Case, alone, python, traceback_of, warnings_of

ABOUT = "`DebugMode(record_stack_trace=True)` around the program: as plain Python, and the lines of its dump"
PACKAGE = "torch"
WAYS = ("DebugMode",)
LINE = re.compile(r"# File: (?:\S*/)?train\.py:(\d+)")


def examine(program: Path, case: Case, way: str) -> Answer:
    with alone(program) as script:
        text = program.read_text("utf-8")
        script.write_text(f"import faults_call; faults_call.start(); {text}", "utf-8")
        shutil.copyfile(HERE / "tools" / "_debug_mode.py", script.with_name("faults_call.py"))
        steps = 0 if case.loud and program == case.program else 2
        script.with_name("faults_call.json").write_text(json.dumps({"steps": steps}), "utf-8")
        ended = python(script, warn=True)
        dump = script.with_name("faults_dump.txt")
        printed = dump.read_text("utf-8") if dump.is_file() else None
    shown = {int(number) for number in LINE.findall(printed or "")}
    failed = f"no dump, exit code {ended.returncode}" if printed is None else None
    return Answer([*traceback_of(ended.stderr), *warnings_of(ended.stderr)], frozenset(shown), failed=failed)
