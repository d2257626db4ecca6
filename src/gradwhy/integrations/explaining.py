"""``gradwhy.explain(error)``: the report on an exception that is there already, watched or not."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields
from typing import Any

from gradwhy.catalog import render
from gradwhy.findings import Message, Report
from gradwhy.integrations.telling import text_of
from gradwhy.runtime import embedded


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Explanation(Report):
    """A report that shows itself as people read it: in a Python prompt, by ``print``, and in a notebook."""

    def __str__(self) -> str:
        return text_of(self).rstrip("\n") or self._nothing()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from gradwhy.report import formats, to_html

        if not (self.findings or self.notes):
            return f"<pre>{to_html.escaped(self._nothing())}</pre>"
        return to_html.fragment(self, formats.Look(render.language_of(None)))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _nothing(self) -> str:
        said = Message("words.not-mine", {"operations": 0} | dict(self.examined))
        return render.sentence(said, render.language_of(None))


def explain(error: BaseException | None = None) -> Explanation:
    """Why an exception of autograd's was raised: the line, the reason, and a fix.

    Without ``error``, the one that is being handled, else the last that was not caught (``sys.last_value``). Where nothing was
    watched when it was raised, the answer comes from its message, the frames that it left, and the source, and is likely, not
    proven. The exception is left as it is. Raises ValueError where there is none.
    """
    found = error or sys.exc_info()[1] or getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if found is None:
        raise ValueError("there is no exception to explain: none was given, and none was raised")
    return explanation(_reported(found))


def _reported(error: BaseException) -> Report:
    if "IPython" in sys.modules:
        from gradwhy.integrations import ipython

        if (shell := ipython.running()) is not None:
            cells = ipython.cells_of(shell)
            return cells.report(embedded.report(error))
    return embedded.report(error)


def explanation(report: Report) -> Explanation:
    """The same report, as one that shows itself."""
    return Explanation(**{field.name: getattr(report, field.name) for field in fields(Report)})
