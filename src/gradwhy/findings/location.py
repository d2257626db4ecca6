"""A place in a program: file, lines and columns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """Lines and columns count from 1, columns in code points, ``end_column`` is exclusive.

    ``function`` is the qualified name of the enclosing function, "" at module level.
    ``cell`` is the number of the notebook cell, or None outside notebooks.
    """

    file: str
    line: int
    column: int = 1
    end_line: int | None = None
    end_column: int | None = None
    function: str = ""
    cell: int | None = None
