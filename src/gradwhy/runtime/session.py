"""One program under watch, from its start to its end and the report on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import CodeType
from typing import TYPE_CHECKING

from gradwhy.findings import Report
from gradwhy.runtime import arrival, embedded, launch, ranks, trial
from gradwhy.runtime.ranks import joining

if TYPE_CHECKING:
    from gradwhy.runtime.watch import TraceMode


class Stopped(BaseException):
    """Raised in the program by whoever watches it, to end it. No ``except Exception`` of the program's takes it for its own."""


class TorchMissing(Exception):
    """The Python that runs gradwhy has no torch."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a program ended: the exception that it ended with, or None, and the report."""

    error: BaseException | None
    report: Report
    steps: int = 0
    """Optimizer steps that were completed."""


def run(
    program: launch.Program,
    trace: TraceMode = "auto",
    nan: bool = False,
    attend: embedded.Attend | None = None,
    overlay: Mapping[str, CodeType] | None = None,
) -> Outcome:
    """Run a program to its end under watch. Its own exceptions are caught, shown as Python shows them, and returned.

    ``nan`` looks at each gradient until the first that is not finite, and records each step for it. ``overlay``: see launch.run.
    Raises ``launch.CannotRun`` and ``TorchMissing`` before anything of the program has run.
    """
    launch.check(program)
    if not arrival.is_installed("torch"):
        raise TorchMissing
    listening = embedded.Listening(trace, nan, attend)
    error: BaseException | None = None
    with embedded.owning(listening):
        try:
            launch.run(program, overlay)
        except BaseException as ended:
            error = ended
        listening.end()
        if error is not None and not isinstance(error, (SystemExit, Stopped)):
            launch.report_uncaught(error)
            embedded.mark_told(error)
        # An audit has something to tell of each program.
        if (attend is not None or isinstance(error, Exception)) and (member := ranks.here()) is not None:
            joining.coming(member)
    return Outcome(error, _report(None if isinstance(error, Stopped) else error, listening), listening.steps)


def _report(error: BaseException | None, listening: embedded.Listening) -> Report:
    if listening.watch is None:
        return Report(notes=tuple(map(embedded.note, listening.trouble)))
    return embedded.diagnosed(error, listening.watch, listening.trouble)


def with_trials(outcome: Outcome, program: launch.Program, folder: str) -> Outcome:
    """The same outcome with each fix tried that has edits, those that work first. Runs the program again for each."""
    findings = []
    for finding in outcome.report.findings:
        fixes = [
            replace(fix, verification=trial.verify(fix, program, outcome.steps, folder)) if fix.edits else fix
            for fix in finding.fixes
        ]
        fixes.sort(key=lambda fix: fix.verification is None or not fix.verification.passed)
        findings.append(replace(finding, fixes=tuple(fixes)))
    return replace(outcome, report=replace(outcome.report, findings=tuple(findings)))
