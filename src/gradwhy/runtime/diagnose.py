"""From an exception and what was recorded to a report. Whatever goes wrong in here becomes a note in it."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import replace

import torch

from gradwhy.findings import Finding, Message, Report
from gradwhy.runtime.failure import Failure, failures
from gradwhy.runtime.names import Names
from gradwhy.runtime.probes import Probe, Situation, all_probes
from gradwhy.runtime.watch import Watch
from gradwhy.static import remedy
from gradwhy.version import VERSION


def diagnose(error: BaseException | None, watch: Watch) -> Report:
    """The report of one run that ended with ``error``, or without one. Never raises."""
    findings: list[Finding] = []
    notes: list[Message] = []
    names: Names | None = None
    if (elsewhere := _of_a_process(error, watch, notes)) is not None:
        return elsewhere
    for failure in _failures(error, notes):
        probes = _probes_for(failure, notes)
        for probe in probes:
            if findings:
                break
            try:
                names = names or Names(failure.frames)
                findings += probe.diagnose(Situation(failure, watch, names))
            except Exception as fault:
                notes.append(_own_fault(fault))
        if not findings and any(not getattr(probe, "MAY_BE_SILENT", False) for probe in probes):
            notes.append(Message("words.no-answer", {"operations": watch.recorder.operations}))
    findings += watch.silent
    known = {(each.cause, each.at.file, each.at.line) for finding in findings for each in (finding, *finding.related)}
    warned = [finding for each in watch.warned.values() for finding in each]
    findings += [each for each in warned if (each.cause, each.at.file, each.at.line) not in known]
    findings = [_completed(finding, notes) for finding in findings]
    notes += [_own_fault(fault) for fault in watch.recorder.faults[:1]]
    if watch.compiling.ran_eager:
        notes.append(Message("words.compiled-ran-eager"))
    parameters = sum(1 for _ in names.all_parameters()) if names is not None else 0
    examined = {
        "operations": watch.recorder.operations,
        "parameters": parameters,
        "steps": watch.journal.steps,
    }
    skipped = watch.unwatched.lines()
    return Report(
        findings=tuple(findings),
        examined=examined,
        skipped=skipped,
        notes=tuple(dict.fromkeys(notes)),
        environment=environment(),
    )


def _completed(finding: Finding, notes: list[Message]) -> Finding:
    try:
        return remedy.completed(finding)
    except Exception as fault:
        notes.append(_own_fault(fault))
        return finding


def _of_a_process(error: BaseException | None, watch: Watch, notes: list[Message]) -> Report | None:
    """The report that a process which the program had started left of its own end."""
    try:
        found = watch.following.report_of(error)
    except Exception as fault:
        notes.append(_own_fault(fault))
        return None
    if found is None:
        return None
    index, report = found
    if index < 0:
        return report
    return replace(report, notes=(*report.notes, Message("words.in-process", {"index": index})))


def _failures(error: BaseException | None, notes: list[Message]) -> list[Failure]:
    try:
        return list(failures(error)) if error is not None else []
    except Exception as fault:
        notes.append(_own_fault(fault))
        return []


def _probes_for(failure: Failure, notes: list[Message]) -> list[Probe]:
    """The probes that know this failure. One that is broken is noted and does not silence the others."""
    found: list[Probe] = []
    for load in all_probes():
        try:
            probe = load()
            if probe.matches(failure):
                found.append(probe)
        except Exception as fault:
            notes.append(_own_fault(fault))
    return found


def environment() -> Mapping[str, str]:
    """The versions that a report was made with."""
    return {"python": platform.python_version(), "torch": torch.__version__.split("+")[0], "gradwhy": VERSION}


def _own_fault(fault: BaseException) -> Message:
    return Message("words.own-fault", {"error": f"{type(fault).__name__}: {fault}"})
