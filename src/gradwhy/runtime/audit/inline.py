"""The audit from inside a program: ``with gradwhy.audit(model, optimizer) as audit: ...``, then ``audit.report``."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import replace
from types import TracebackType
from typing import Any

import torch

from gradwhy.findings import Message, Report
from gradwhy.runtime import embedded
from gradwhy.runtime.audit import gathering
from gradwhy.runtime.audit.observer import Observer
from gradwhy.runtime.diagnose import diagnose
from gradwhy.runtime.sites import user_frame
from gradwhy.runtime.watch import Watch


class Audit:
    """Watches the training steps of a ``with`` block.

    ``watched``: models and optimizers that exist already. They are found without being named, where a live variable leads to
    them; an optimizer that is named counts as made on the line of the ``with``. What the block raises is not held back.

    >>> with Audit(model, optimizer) as audit:
    ...     for inputs, targets in itertools.islice(loader, 3):
    ...         train_step(model, optimizer, inputs, targets)
    >>> assert not audit.report.findings
    """

    def __init__(self, *watched: Any) -> None:
        self.report = Report()
        self._watched = watched
        self._closely = contextlib.ExitStack()
        self._complete: bool | None = None
        """Whether the watch of the process has seen everything; None where the audit has a watch of its own."""

    def __enter__(self) -> Audit:
        frame = user_frame(sys._getframe(1))
        # A program that is watched already keeps its one watch, which knows more.
        shared = self._closely.enter_context(embedded.watching_closely())
        self._watch, self._complete = shared if shared is not None else (Watch("always"), None)
        self._observer = Observer(self._watch, lambda: None)
        if shared is None:
            self._watch.start()
        self._observer.start()
        known = {id(record.reference()) for record in self._watch.journal.optimizers}
        for each in self._watched:
            if isinstance(each, torch.optim.Optimizer) and id(each) not in known:
                self._watch.journal.optimizer_made(each, frame)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._observer.stop()
        if self._complete is None:
            self._watch.stop()
        self._closely.close()
        self._watched = ()
        try:
            self.report = self._gathered(error)
        except Exception as fault:
            note = Message("words.own-fault", {"error": f"{type(fault).__name__}: {fault}"})
            self.report = replace(self.report, notes=(note,))

    def _gathered(self, error: BaseException | None) -> Report:
        if self._complete is None:
            return gathering.joined(diagnose(error, self._watch), self._observer)
        with embedded.aside(self._watch, self._complete):
            report = gathering.joined(diagnose(error, self._watch), self._observer)
        embedded.told(self._watch)
        return report
