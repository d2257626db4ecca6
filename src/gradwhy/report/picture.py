"""A picture of the audit's table: the gradient norm of each parameter, so that missing ones are seen at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gradwhy.catalog import load
from gradwhy.findings import Parameter
from gradwhy.report.parameters import status_of

_MISSING = frozenset({"none", "zero", "left-out", "not-finite"})
_COLOURS = {
    "trains": "#4878a8",
    "unchanged": "#d8a03c",
    "frozen": "#b8b8b8",
    "idle": "#b8b8b8",
    "frozen-changed": "#d8a03c",
}


def draw(parameters: Sequence[Parameter], file: Path, language: str) -> None:
    """Write a picture in the format that the file's name asks for. Raises ModuleNotFoundError without matplotlib.

    The module draws by itself: no window is opened, and the program's own figures and backend are left alone.
    """
    from matplotlib.figure import Figure  # type: ignore[import-not-found,unused-ignore]

    words = load.words(language)
    shown = list(parameters)
    figure = Figure(figsize=(8, max(2.0, 0.22 * len(shown) + 1.2)), layout="constrained")
    axes = figure.add_subplot()
    norms = [row.norm for row in shown]
    floor = min((norm for norm in norms if norm > 0), default=1.0) / 3
    for place, row in enumerate(shown):
        status = status_of(row)
        if status in _MISSING:
            axes.plot([floor], [place], marker="x", color="#c0392b", clip_on=False)
            axes.text(
                floor * 1.15, place, words.get(f"status-{status}", status), va="center", fontsize=7, color="#c0392b"
            )
        else:
            axes.barh(place, max(row.norm, floor), left=0, color=_COLOURS[status], height=0.7)
    axes.set_xscale("log")
    axes.set_xlim(left=floor / 1.5)
    axes.set_yticks(range(len(shown)), [row.name for row in shown], fontsize=7)
    axes.set_ylim(-0.8, len(shown) - 0.2)
    axes.invert_yaxis()
    axes.set_xlabel(words.get("table-gradient", "gradient"))
    figure.savefig(file)
