"""``with gradwhy.watch():`` watches a block; an autograd exception that leaves it gets its report, and goes on."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from gradwhy.findings import Report
from gradwhy.integrations import telling
from gradwhy.integrations.telling import To
from gradwhy.runtime import embedded, unwind

if TYPE_CHECKING:
    from gradwhy.integrations.cells import Cells
    from gradwhy.runtime.watch import TraceMode


class watch:
    """Watches a ``with`` block.

    An exception of autograd's that leaves the block is reported on standard error, and goes on unchanged. ``to`` names a file
    for the report instead (``.json``, or text), or a function that is given it. ``report`` has it after the block, with what was
    noticed where nothing was raised. ``trace``: "auto" records steps in full where something is new, "always" each, "never" none.

    >>> with gradwhy.watch():
    ...     train(model, loader)
    """

    def __init__(self, *, trace: TraceMode = "auto", to: To = None, language: str | None = None) -> None:
        self.report = Report()
        self._trace: TraceMode = trace
        self._to, self._language = to, language
        self._cells: Cells | None = None

    def __enter__(self) -> watch:
        self._cells = _cells()
        embedded.start(self._trace)
        embedded.refresh()
        telling.tell_meanwhile(self._to, self._language)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._leave(error if isinstance(error, Exception) else None)
        except Exception:
            # Nothing of ours comes before the program's own exception.
            return
        finally:
            embedded.stop()

    def _leave(self, error: Exception | None) -> None:
        # ``gradwhy run`` reports by itself how the program ends, and a block inside this one has told of it already.
        tells = not embedded.is_spoken_for() and not (error is not None and embedded.was_told(error))
        if error is not None:
            unwind.clean(error)
            if tells:
                telling.announce()
        self.report = embedded.report(error)
        if self._cells is not None:
            self.report = self._cells.report(self.report)
        if error is not None:
            embedded.mark_told(error)
        if tells or self._to is not None:
            telling.tell(self.report, self._to, self._language)


def _cells() -> Cells | None:
    """The cells of the notebook that the block stands in."""
    try:
        if "IPython" in sys.modules:
            from gradwhy.integrations import ipython

            if (shell := ipython.running()) is not None:
                return ipython.cells_of(shell)
    except Exception:
        return None
    return None
