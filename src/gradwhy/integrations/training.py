"""One training run inside a host's trainer: watched from its start, its failure told, its first steps audited."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

from gradwhy.catalog import render
from gradwhy.findings import Message, Report
from gradwhy.integrations import telling
from gradwhy.report import delivery
from gradwhy.runtime import embedded, unwind

if TYPE_CHECKING:
    from gradwhy.runtime.audit.observer import Observer
    from gradwhy.runtime.audit.pace import Pace
    from gradwhy.runtime.watch import TraceMode


class DoesNotTrain(Exception):
    """Raised after an audit that found something, where a callback was asked to: ``report`` has the findings."""

    def __init__(self, report: Report, language: str | None = None) -> None:
        first = report.findings[0]
        said = render.sentence(first.message, render.language_of(language))
        super().__init__(f"{said} ({first.at.file}:{first.at.line}) [{first.cause}]")
        self.report = report


def missing(package: str) -> str:
    """The one sentence for a host that is not installed."""
    told = Message("words.host-missing", {"package": package, "python": sys.executable})
    return render.sentence(told, render.language_of(None))


class Run:
    """What a callback holds. ``begin``, ``stepped``, ``failed`` and ``end`` are called by the host's hooks, in any number; where
    ``gradwhy run`` or ``gradwhy audit`` started the program they do nothing, since that reports already.

    ``audit_steps``: optimizer steps to audit; None for half a minute and at least two of each optimizer. ``raises``: raise
    ``DoesNotTrain`` when the audit finds errors or warnings. ``to``: where reports go, see ``telling.To``.
    """

    def __init__(
        self,
        *,
        trace: TraceMode = "auto",
        audit: bool = False,
        audit_steps: int | None = None,
        raises: bool = False,
        to: telling.To = None,
        language: str | None = None,
    ) -> None:
        self.trace: TraceMode = trace
        self.audits = audit or audit_steps is not None or raises
        self.audit_steps = audit_steps
        self.raises = raises
        self.to = to
        self.language = language
        self.report = Report()
        """The last report that was made: of a failure, of an audit, or of what was noticed without one."""
        self._held = False
        self._observer: Observer | None = None
        self._closely = contextlib.ExitStack()
        self._complete = False
        self._pace: Pace | None = None

    def begin(self) -> None:
        """Watch from here on. Called again while it watches, it does nothing."""
        if self._held or embedded.is_spoken_for():
            return
        try:
            embedded.start(self.trace)
            self._held = True
            embedded.refresh()
            telling.tell_meanwhile(self.to, self.language)
            if self.audits:
                self._attend()
        except Exception as fault:
            _say(fault)

    def _attend(self) -> None:
        # Imported here: it needs torch, which a host's trainer has imported.
        from gradwhy.runtime.audit.observer import Observer
        from gradwhy.runtime.audit.pace import Pace

        shared = self._closely.enter_context(embedded.watching_closely())
        if shared is None:
            # Somebody looks closely already, such as an audit around the trainer.
            self._closely.close()
            return
        self._pace = Pace(self.audit_steps)
        self._observer = self._pace.observer = Observer(shared[0], self._pace.stepped)
        self._complete = shared[1]
        self._observer.start()

    def stepped(self) -> None:
        """A batch is over: the place to end an audit that has seen enough. May raise ``DoesNotTrain``."""
        if self._pace is not None and self._observer is not None and self._pace.is_enough():
            self._conclude()

    def _conclude(self, error: BaseException | None = None) -> None:
        """End the audit, and tell what it found."""
        observer, self._observer = self._observer, None
        if observer is None:
            return
        try:
            from gradwhy.runtime.audit import gathering

            observer.stop()
            self._closely.close()
            telling.announce()
            report = embedded.report(error)
            with embedded.aside(observer.watch, self._complete):
                report = gathering.joined(report, observer)
            self._told(report)
        except Exception as fault:
            _say(fault)
            return
        if error is None and self.raises and any(f.severity in ("error", "warning") for f in self.report.findings):
            raise DoesNotTrain(self.report, self.language)

    def failed(self, error: BaseException) -> None:
        """Tell of an exception that is on its way out of the host's trainer, and stop watching. It goes on unchanged."""
        if not self._held:
            return
        try:
            unwind.clean(error)
            if isinstance(error, Exception) and not isinstance(error, DoesNotTrain) and not embedded.was_told(error):
                # A hook around the trainer, such as ``gradwhy.install()``, sees the exception next.
                embedded.mark_told(error)
                telling.announce()
                if self._observer is not None:
                    self._conclude(error)
                else:
                    self._told(embedded.report(error))
        except Exception as fault:
            _say(fault)
        self._release()

    def end(self) -> None:
        """The host's trainer is done. May raise ``DoesNotTrain``."""
        if not self._held:
            return
        try:
            if self._observer is not None:
                self._conclude()
            elif (noticed := embedded.report(None)).findings:
                self._told(noticed)
        finally:
            self._release()

    def _release(self) -> None:
        observer, self._held, self._observer = self._observer, False, None
        try:
            if observer is not None:
                observer.stop()
            self._closely.close()
            embedded.stop()
        except Exception as fault:
            _say(fault)

    def _told(self, report: Report) -> None:
        self.report = report
        telling.tell(report, self.to, self.language)

    def __getstate__(self) -> dict[str, Any]:
        # A callback is copied to the processes that a host starts: each watches for itself.
        fresh = {"_held": False, "_observer": None, "_pace": None, "_closely": None, "report": Report()}
        return self.__dict__ | fresh

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._closely = contextlib.ExitStack()


def _say(fault: BaseException) -> None:
    delivery.say(f"gradwhy: {type(fault).__name__}: {fault}")
