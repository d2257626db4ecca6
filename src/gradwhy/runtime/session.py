"""One program under watch, from its start to its end and the report on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import CodeType, FrameType
from typing import TYPE_CHECKING, TypeAlias

from gradwhy.findings import Message, Report
from gradwhy.runtime import arrival, launch, ranks, trial, unwind, warned
from gradwhy.runtime.ranks import joining

if TYPE_CHECKING:
    from gradwhy.runtime.watch import TraceMode, Watch


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


Attend: TypeAlias = "Callable[[Watch], Callable[[], None]]"
"""Called when the watch has begun; gives back what is to be called before it ends."""


def run(
    program: launch.Program,
    trace: TraceMode = "auto",
    nan: bool = False,
    attend: Attend | None = None,
    overlay: Mapping[str, CodeType] | None = None,
) -> Outcome:
    """Run a program to its end under watch. Its own exceptions are caught, shown as Python shows them, and returned.

    ``nan`` looks at each gradient until the first that is not finite, and records each step for it. ``overlay``: see launch.run.
    Raises ``launch.CannotRun`` and ``TorchMissing`` before anything of the program has run.
    """
    launch.check(program)
    if not arrival.is_installed("torch"):
        raise TorchMissing
    watches: list[Watch] = []
    trouble: list[BaseException] = []
    leaving: list[Callable[[], None]] = []

    def arrived() -> None:
        # A fault of ours must not become an ImportError of torch.
        try:
            from gradwhy.runtime.watch import Watch

            watch = Watch("always" if nan else trace, nan=nan)
            watches.append(watch)
            watch.start()
            if attend is not None:
                leaving.append(attend(watch))
        except Exception as fault:
            trouble.append(fault.with_traceback(None))

    def heard(text: str, frame: FrameType) -> None:
        if watches:
            from gradwhy.runtime.probes import warned as listening

            watches[0]._quietly(listening.hear, text, frame, watches[0])

    arrival.when_imported("torch", arrived)
    undo = [unwind.clean_what_is_printed(), warned.place_truly(heard)]
    error: BaseException | None = None
    try:
        launch.run(program, overlay)
    except BaseException as ended:
        error = ended
    finally:
        for end in [*leaving, *(watch.stop for watch in watches)]:
            try:
                end()
            except Exception as fault:
                trouble.append(fault.with_traceback(None))
        for each in reversed(undo):
            each()
    if error is not None and not isinstance(error, (SystemExit, Stopped)):
        launch.report_uncaught(error)
    if isinstance(error, Exception) and (member := ranks.here()) is not None:
        joining.coming(member)
    steps = watches[0].journal.steps if watches else 0
    return Outcome(error, _report(None if isinstance(error, Stopped) else error, watches, trouble), steps)


def _report(error: BaseException | None, watches: list[Watch], trouble: list[BaseException]) -> Report:
    if not watches:
        return Report(notes=tuple(map(_note, trouble)))
    # Imported here: it needs torch, which a program need not have imported.
    from gradwhy.runtime.diagnose import diagnose

    try:
        report = diagnose(error, watches[0])
    except Exception as fault:
        report = Report(notes=(_note(fault),))
    return replace(report, notes=(*report.notes, *map(_note, trouble)))


def _note(fault: BaseException) -> Message:
    return Message("words.own-fault", {"error": f"{type(fault).__name__}: {fault}"})


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
