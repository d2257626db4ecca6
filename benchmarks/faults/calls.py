"""Calls that a user writes into a program for a tool that has to be called by hand, one file a case in ``calls/``.

Such a file begins with comments: ``# before:`` the first words of the statement in front of which the call is put, ``# nth:``
which of the statements that begin so (1), ``# times:`` on which passage (1); or ``# not applicable:`` and why. The rest is run
there, with the names that the program has there, ``check`` for the tool's own call, and ``twin``, true in the corrected
program, for the few calls that must repeat the faulty statement itself. The line numbers stay as they are.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from answers import HERE, Answer, Case, Said, alone, python, traceback_of

INSERTED = '__import__("faults_call").here(globals(), locals()); '


def header(code: str) -> dict[str, str]:
    return dict(re.findall(r"(?m)^# (before|nth|times|not applicable): (.*)$", code))


def inserted(text: str, before: str, nth: int = 1, call: str = INSERTED) -> str:
    """The program with the call in front of a statement, on the same line."""
    lines = text.splitlines(keepends=True)
    found = [number for number, line in enumerate(lines) if line.lstrip().startswith(before)]
    number = found[nth - 1]
    indent = len(lines[number]) - len(lines[number].lstrip())
    lines[number] = lines[number][:indent] + call + lines[number][indent:]
    return "".join(lines)


def called(program: Path, case: Case, probe: Path) -> tuple[Any, Answer | None]:
    """What the probe wrote at the call; or nothing, and the answer that says why."""
    code = (HERE / "calls" / f"{case.stem}.py").read_text("utf-8")
    told = header(code)
    if "not applicable" in told:
        return None, Answer(inapplicable=told["not applicable"])
    with alone(program) as script:
        script.write_text(inserted(program.read_text("utf-8"), told["before"], int(told.get("nth", 1))), "utf-8")
        shutil.copyfile(probe, script.with_name("faults_call.py"))
        order = {"code": code, "times": int(told.get("times", 1)), "twin": program == case.twin}
        script.with_name("faults_call.json").write_text(json.dumps(order), "utf-8")
        ended = python(script)
        answer = script.with_name("faults_answer.json")
        if answer.is_file():
            return json.loads(answer.read_text("utf-8")), None
    said = traceback_of(ended.stderr)
    return None, Answer(failed=f"exit code {ended.returncode}: {said[0].text if said else ended.stderr[-200:]}")


def plain(said: list[Said]) -> list[Said]:
    """The grave statements first, each group in the tool's own order."""
    return sorted(said, key=lambda each: not each.grave)
