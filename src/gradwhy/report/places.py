"""How a place is written: ``train.py:38``, ``notes.ipynb:cell 3 line 2``, and ``cell 11, line 2`` in a notebook that runs."""

from __future__ import annotations

from gradwhy.catalog import render
from gradwhy.findings import Location, Message
from gradwhy.source.locating import LIVE
from gradwhy.source.snippet import printable


def place(at: Location, language: str, short: bool = False) -> str:
    """The place for people. ``short``: of a file in a package only the last parts, enough to know it by."""
    if at.file == LIVE and at.cell is not None:
        return f"{cell(at, language)}{render.sentence(Message('words.line-in-cell', {'line': at.line}), language)}"
    inner = f"cell {at.cell} line " if at.cell is not None else ""
    return f"{printable(shortened(at.file) if short else at.file)}:{inner}{at.line}"


def cell(at: Location, language: str) -> str:
    """The cell of a notebook that runs."""
    return render.sentence(Message("words.cell", {"cell": at.cell or 0}), language)


def room(at: Location, main: Location, language: str) -> str:
    """What a line stands in: its function, and its file or cell where that is another than the main place's."""
    function = f"{at.function}()" if at.function else ""
    if at.file == LIVE and at.cell is not None:
        return ", ".join(filter(None, (cell(at, language), printable(function))))
    function = function or "<module>"
    same = (at.file, at.cell) == (main.file, main.cell)
    file = shortened(at.file) if at.cell is None else f"{at.file}:cell {at.cell}"
    return printable(function if same else f"{file}, {function}")


def line_key(at: Location) -> tuple[str, int | None, int]:
    """The same for two places on one line."""
    return at.file, at.cell, at.line


def room_key(at: Location) -> tuple[str, int | None, str]:
    """The same for two places in one function of one file or cell."""
    return at.file, at.cell, at.function


def shortened(file: str) -> str:
    parts = file.split("/")
    return "/".join(parts[parts.index("site-packages") + 1 :]) if "site-packages" in parts else file
