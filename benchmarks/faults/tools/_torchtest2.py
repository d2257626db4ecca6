"""Copied beside a program as ``faults_call.py``: runs the case's call of ``torchtest2.check_model`` and writes the report."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

ORDER = json.loads(Path("faults_call.json").read_text("utf-8"))
reached = 0


def here(program: dict[str, Any], local: dict[str, Any]) -> None:
    global reached
    reached += 1
    if reached == ORDER["times"]:
        exec(compile(ORDER["code"], "the call", "exec"), {**program, **local, "check": check, "twin": ORDER["twin"]})


def check(*arguments: Any, **keywords: Any) -> None:
    import torchtest2

    report = torchtest2.check_model(*arguments, **keywords)
    rows = [[result.name, result.status.value, result.message] for result in report]
    Path("faults_answer.json").write_text(json.dumps(rows), "utf-8")
    sys.stdout.flush()
    os._exit(0)
