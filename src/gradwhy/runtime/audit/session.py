"""One audit, from the start of the program to its end or to the step after which it is stopped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import CodeType
from typing import TYPE_CHECKING, Literal, TypeAlias

from gradwhy.findings import Message
from gradwhy.runtime import launch, session
from gradwhy.runtime.audit.pace import Pace

if TYPE_CHECKING:
    from gradwhy.runtime.watch import Watch

Then: TypeAlias = Literal["stop", "continue"]


@dataclass(frozen=True, slots=True)
class Plan:
    """How long to watch. ``steps``: of all optimizers together, None for half a minute and at least two of each;
    ``samples``: how many of each batch of the program's loaders are used, None for all."""

    steps: int | None = None
    then: Then = "stop"
    samples: int | None = None


@dataclass(frozen=True, slots=True)
class Audited:
    """How the audited program ended."""

    outcome: session.Outcome
    stopped: bool
    """Whether the audit ended it."""


def audit(
    program: launch.Program,
    plan: Plan,
    on_step: Callable[[int], None] = lambda done: None,
    overlay: Mapping[str, CodeType] | None = None,
) -> Audited:
    """Run a program under audit. ``on_step`` hears of each watched step; ``overlay``: see launch.run.

    Raises ``launch.CannotRun`` and ``session.TorchMissing`` before anything of the program has run.
    """
    pace = Pace(plan.steps)
    over = False

    def stepped() -> None:
        nonlocal over
        pace.stepped()
        on_step(pace.done)
        if not over and pace.is_enough():
            over = True
            if plan.then == "stop":
                raise session.Stopped
            # From here on the program runs as it would without us.
            if pace.observer is not None:
                pace.observer.rest()

    def attend(watch: Watch) -> Callable[[], None]:
        # Imported here: it needs torch, which the program has just imported.
        from gradwhy.runtime.audit.observer import Observer

        observer = Observer(watch, stepped)
        pace.observer = observer
        observer.start()
        undo = [observer.stop]
        if plan.samples is not None:
            from gradwhy.runtime.audit import samples

            undo.append(samples.limit(plan.samples))

        def leave() -> None:
            for each in undo:
                each()

        return leave

    outcome = session.run(program, "always", nan=True, attend=attend, overlay=overlay)
    stopped = isinstance(outcome.error, session.Stopped)
    report = outcome.report
    if pace.observer is not None:
        from gradwhy.runtime.audit import gathering

        try:
            report = gathering.joined(report, pace.observer)
        except Exception as fault:
            note = Message("words.own-fault", {"error": f"{type(fault).__name__}: {fault}"})
            report = replace(report, notes=(*report.notes, note))
    return Audited(replace(outcome, error=None if stopped else outcome.error, report=report), stopped)
