"""From an exception and what was recorded to a report. Whatever goes wrong in here becomes a note in it."""

from __future__ import annotations

import platform
from collections.abc import Mapping

import torch

from gradwhy.findings import Finding, Message, Report
from gradwhy.runtime.failure import failures
from gradwhy.runtime.names import Names
from gradwhy.runtime.probes import Situation, all_probes
from gradwhy.runtime.watch import Watch
from gradwhy.version import VERSION


def diagnose(error: BaseException | None, watch: Watch) -> Report:
    """The report of one run that ended with ``error``, or without one. Never raises."""
    findings: list[Finding] = []
    notes: list[Message] = []
    names: Names | None = None
    try:
        for failure in failures(error) if error is not None else ():
            for probe in all_probes():
                if findings or not probe.matches(failure):
                    continue
                names = names or Names(failure.frames)
                findings += probe.diagnose(Situation(failure, watch, names))
                if not findings:
                    notes.append(Message("words.no-answer", {"operations": watch.recorder.operations}))
    except Exception as fault:
        notes.append(_own_fault(fault))
    findings += watch.silent
    notes += [_own_fault(fault) for fault in watch.recorder.faults[:1]]
    if watch.compiled:
        notes.append(Message("words.compiled-ran-eager"))
    parameters = sum(1 for _ in names.all_parameters()) if names is not None else 0
    examined = {
        "operations": watch.recorder.operations,
        "parameters": parameters,
        "steps": watch.journal.steps,
    }
    return Report(findings=tuple(findings), examined=examined, notes=tuple(notes), environment=environment())


def environment() -> Mapping[str, str]:
    """The versions that a report was made with."""
    return {"python": platform.python_version(), "torch": torch.__version__.split("+")[0], "gradwhy": VERSION}


def _own_fault(fault: BaseException) -> Message:
    return Message("words.own-fault", {"error": f"{type(fault).__name__}: {fault}"})
