"""Notebooks as program text: the code cells one after the other, and which line of which cell each line is."""

from __future__ import annotations

import json
from dataclasses import dataclass

from gradwhy.source.text import SourceText

_MAGIC = ("%", "!", "?")


@dataclass(frozen=True, slots=True)
class Notebook:
    """``cells`` holds (number of the cell, first line in ``text``) of each code cell; numbers count all cells from 1."""

    text: str
    cells: tuple[tuple[int, int], ...]

    def place(self, line: int) -> tuple[int, int]:
        """(cell, line in it) of a line of the joined text."""
        number, first = next(((n, f) for n, f in reversed(self.cells) if f <= line), (1, 1))
        return number, line - first + 1

    def cell(self, number: int) -> SourceText | None:
        """The text of one cell."""
        lines = self.text.split("\n")
        for index, (cell, first) in enumerate(self.cells):
            if cell == number:
                end = self.cells[index + 1][1] - 1 if index + 1 < len(self.cells) else len(lines)
                return SourceText(f"cell {number}", "\n".join(lines[first - 1 : end]))
        return None


def parse(text: str) -> Notebook | None:
    """The notebook in a JSON text, or None where it is none. Magics become comments: the other lines keep their numbers."""
    try:
        cells = json.loads(text)["cells"]
        codes = [
            (number, "".join(cell["source"]))
            for number, cell in enumerate(cells, start=1)
            if cell.get("cell_type") == "code"
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    lines: list[str] = []
    starts: list[tuple[int, int]] = []
    for number, code in codes:
        starts.append((number, len(lines) + 1))
        lines += _without_magics(code.replace("\r\n", "\n").split("\n"))
    return Notebook("\n".join(lines), tuple(starts))


def _without_magics(lines: list[str]) -> list[str]:
    first = next((line.strip() for line in lines if line.strip()), "")
    if first.startswith("%%"):
        # A cell magic takes the whole cell; those that run Python keep their lines.
        python = first[2:].split(" ")[0] in ("time", "timeit", "capture", "prun")
        return [line if python and not line.strip().startswith("%") else f"# {line}" for line in lines]
    return [_quiet(line) for line in lines]


def _quiet(line: str) -> str:
    stripped = line.lstrip()
    if stripped.startswith(_MAGIC) or (stripped.endswith("?") and stripped[:-1].replace(".", "").isidentifier()):
        indent = line[: len(line) - len(stripped)]
        return f"{indent}pass  # {stripped}"
    return line
