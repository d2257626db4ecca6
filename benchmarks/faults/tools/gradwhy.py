"""gradwhy's own engines, through its command line and its JSON report."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from answers import Answer, Case, Said, alone, launch

ABOUT = "`gradwhy run` and `--trace never` where something is raised, `audit` where nothing is, `check` on all"
PACKAGE = "gradwhy"
WAYS = {
    "gradwhy run": ["run"],
    "gradwhy run --trace never": ["run", "--trace", "never"],
    "gradwhy audit": ["audit"],
    "gradwhy check": ["check"],
}


def examine(program: Path, case: Case, way: str) -> Answer:
    if WAYS[way][0] == "run" and not case.loud:
        return Answer(inapplicable="nothing is raised")
    if WAYS[way][0] == "audit" and case.loud:
        return Answer(inapplicable="an exception is raised")
    with alone(program) as script:
        options = ["--format", "json", "--output", "report.json", script.name]
        ended = launch([sys.executable, "-m", "gradwhy", *WAYS[way], *options], script.parent)
        try:
            findings = json.loads(script.with_name("report.json").read_text("utf-8"))["findings"]
        except (OSError, ValueError, KeyError):
            return Answer(failed=f"no report, exit code {ended.returncode}")
    said = [
        Said(each["at"]["line"], (each["cause"],), each["cause"], each["severity"] in ("error", "warning"))
        for each in findings
    ]
    edits = next((fix["edits"] for each in findings for fix in each["fixes"] if fix["edits"]), None)
    return Answer(said, corrected=None if edits is None else edited(program.read_text("utf-8"), edits))


def edited(text: str, edits: list[dict[str, Any]]) -> str:
    """The text with the edits of one fix; lines and columns count from one."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for edit in sorted(edits, key=lambda each: (each["line"], each["column"]), reverse=True):
        begin = starts[edit["line"] - 1] + edit["column"] - 1
        end = starts[edit["end_line"] - 1] + edit["end_column"] - 1
        text = text[:begin] + edit["new_text"] + text[end:]
    return text
