"""Notebooks as program text: the code cells one after the other, and which line of which cell each line is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from gradwhy.findings import Edit
from gradwhy.source.text import SourceText

_MAGIC = ("%", "!", "?")


@dataclass(frozen=True, slots=True)
class Notebook:
    """``cells`` holds (number of the cell, first line in ``text``) of each code cell; numbers count all cells from 1.
    ``masked`` holds the lines of ``text`` that are not as they stand in their cell."""

    text: str
    cells: tuple[tuple[int, int], ...]
    masked: frozenset[int] = frozenset()

    def place(self, line: int) -> tuple[int, int]:
        """(cell, line in it) of a line of the joined text."""
        number, first = next(((n, f) for n, f in reversed(self.cells) if f <= line), (1, 1))
        return number, line - first + 1

    def edit(self, edit: Edit) -> Edit | None:
        """An edit of the joined text as one of a cell, or None where it changes a magic or more than one cell."""
        cell, line = self.place(edit.line)
        end_cell, end_line = self.place(edit.end_line)
        last = edit.end_line if edit.end_column > 1 or edit.end_line == edit.line else edit.end_line - 1
        replaces = (edit.line, edit.column) != (edit.end_line, edit.end_column)
        if replaces and self.masked & set(range(edit.line, last + 1)):
            return None
        if end_cell == cell:
            return replace(edit, cell=cell, line=line, end_line=end_line)
        if self.place(last)[0] != cell or edit.column != 1 or line == 1:
            return None
        # The last lines of a cell: their line ends go with the line before them.
        lines = self.text.split("\n")
        before, end = lines[edit.line - 2], lines[last - 1]
        text = f"\n{edit.new_text}".removesuffix("\n")
        return replace(
            edit, cell=cell, line=line - 1, column=len(before) + 1, end_line=line + last - edit.line,
            end_column=len(end) + 1, new_text=text,
        )  # fmt: skip

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
    masked: set[int] = set()
    for number, code in codes:
        starts.append((number, len(lines) + 1))
        written = code.replace("\r\n", "\n").split("\n")
        quiet = _without_magics(written)
        masked |= {len(lines) + n for n, (a, b) in enumerate(zip(written, quiet), start=1) if a != b}
        lines += quiet
    return Notebook("\n".join(lines), tuple(starts), frozenset(masked))


def source(text: str, number: int) -> str | None:
    """What stands in a cell, magics included; None where there is no such cell."""
    try:
        found = "".join(json.loads(text)["cells"][number - 1]["source"])
    except (ValueError, KeyError, TypeError, IndexError):
        return None
    return found.replace("\r\n", "\n")


def rewritten(text: str, cells: Mapping[int, str]) -> str:
    """The JSON text with new sources for some cells. Not one character outside of them changes, outputs included.

    Raises ValueError where the text is no notebook.
    """
    pieces: list[str] = []
    position = 0
    # Written by a tool that escapes what is not ASCII.
    escaped = text.isascii() and "\\u" in text
    for number, (start, end) in enumerate(_spans_of_sources(text), start=1):
        if number in cells:
            pieces += [text[position:start], _as_before(text[start:end], cells[number], escaped)]
            position = end
    return "".join([*pieces, text[position:]])


_SPACE = re.compile(r"\s*")


def _spans_of_sources(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of the value of "source" in each cell."""
    top = dict(_members(text, _past(text, 0)))
    start, _ = top["cells"]
    position = _past(text, start + 1)
    while text[position] != "]":
        members = dict(_members(text, position))
        yield members.get("source", (position, position))
        _, end = json.JSONDecoder().raw_decode(text, position)
        position = _past(text, end)
        if text[position] == ",":
            position = _past(text, position + 1)


def _members(text: str, position: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """(name, (start, end) of the value) of the members of the object that begins at a position."""
    decoder = json.JSONDecoder()
    if text[position] != "{":
        raise ValueError("not a notebook")
    position = _past(text, position + 1)
    while text[position] != "}":
        name, end = decoder.raw_decode(text, position)
        start = _past(text, _past(text, end) + 1)
        _, end = decoder.raw_decode(text, start)
        yield name, (start, end)
        position = _past(text, end)
        if text[position] == ",":
            position = _past(text, position + 1)


def _past(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found is not None else position


def _as_before(old: str, code: str, escaped: bool) -> str:
    """The value as JSON, in the form that the old one has: one string, or a list of lines with its indentation."""
    if not old.startswith("["):
        return json.dumps(code, ensure_ascii=escaped)
    lines = [line for line in re.split(r"(?<=\n)", code) if line]
    gap = old[1 : _past(old, 1)]
    close = old[: old.rindex("]")]
    tail = close[len(close.rstrip()) :] if len(old.strip("[] \n\r\t")) else gap
    separator = f",{gap}" if gap else ", "
    return f"[{gap}{separator.join(json.dumps(line, ensure_ascii=escaped) for line in lines)}{tail}]" if lines else "[]"


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
