"""The text that a location is in: a file, standard input, or a cell of a notebook."""

from __future__ import annotations

import functools

from gradwhy.findings import Edit, Location
from gradwhy.source import notebook, text
from gradwhy.source.text import SourceText

LIVE = "<notebook>"
"""The file of places in a notebook that runs: its cells go by their execution count, and no file need hold them."""

_live: dict[int, SourceText] = {}


def give_cell(number: int, code: str) -> None:
    """The text of the cell that was executed under that count."""
    _live[number] = SourceText(f"cell {number}", code)


def source_of(at: Location | Edit) -> SourceText | None:
    """The program text whose lines the location, or the edit, counts, or None where it can't be read."""
    if at.cell is None:
        return text.read(at.file)
    if at.file == LIVE:
        return _live.get(at.cell)
    return _cell(at.file, at.cell)


@functools.lru_cache(maxsize=64)
def _cell(file: str, number: int) -> SourceText | None:
    whole = text.read(file)
    found = notebook.parse(whole.text) if whole is not None else None
    return found.cell(number) if found is not None else None


def forget_all() -> None:
    """Read cells anew the next time: their files were written to."""
    _cell.cache_clear()
