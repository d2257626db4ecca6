"""The error file that torchelastic gives to each process: what is written there is in torchrun's own table of failures.

(torch/distributed/elastic/multiprocessing/errors: ``ProcessFailure`` reads it, the table shows ``py_callstack``.)
"""

from __future__ import annotations

import json
import os
import time
import traceback
from pathlib import Path
from typing import Any

from gradwhy.findings import Report
from gradwhy.report import formats

VARIABLE = "TORCHELASTIC_ERROR_FILE"
_WIDTH = 100


def add(report: Report, error: BaseException, language: str, since: float | None = None) -> bool:
    """Put the findings under the traceback of ``error`` in this process's error file. ``since`` is when it failed, in seconds
    since the epoch: torchrun calls the earliest of all processes the root cause.

    False where there is no such file, or nothing was found. Raises OSError where it can't be written.
    """
    target = os.environ.get(VARIABLE)
    if not target or not report.findings:
        return False
    told = formats.load("text").write(report, formats.Look(language, _WIDTH))
    path = Path(target)
    data = _there(path) or _new(error, since)
    extra = data["message"]["extraInfo"]
    extra["py_callstack"] = f"{str(extra.get('py_callstack', '')).rstrip()}\n{told.rstrip()}\n"
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(json.dumps(data), "utf-8")
    part.replace(path)
    return True


def _there(path: Path) -> dict[str, Any] | None:
    """What ``torch.distributed.elastic``'s ``record`` has written already, where the program uses that."""
    try:
        data = json.loads(path.read_text("utf-8"))
        return data if isinstance(data["message"]["extraInfo"], dict) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _new(error: BaseException, since: float | None) -> dict[str, Any]:
    lines = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    seconds = str(int(time.time() if since is None else since))
    extra = {"py_callstack": lines, "timestamp": seconds}
    return {"message": {"message": f"{type(error).__name__}: {error}", "extraInfo": extra}}
