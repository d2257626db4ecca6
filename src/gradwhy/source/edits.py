"""Applies text edits to program text, and shows them as lines before and after."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from gradwhy.findings import Edit


class Overlap(ValueError):
    """Two edits change the same text."""


def apply(text: str, edits: Iterable[Edit]) -> str:
    """``text`` with the edits made. Lines end in "\\n" only, as Python counts them: a form feed or U+2028 ends none.

    Raises Overlap where two edits meet, and ValueError where one lies outside the text.
    """
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)

    def offset(line: int, column: int) -> int:
        # A line past the last one is where whole lines end that were taken out at the end of the text.
        if not 0 < line <= len(starts) or column < 1:
            raise ValueError(f"there is no line {line}, column {column}")
        return min(starts[line - 1] + column - 1, len(text))

    spans = sorted((offset(e.line, e.column), offset(e.end_line, e.end_column), e.new_text) for e in edits)
    parts: list[str] = []
    position = 0
    for start, end, new_text in spans:
        if start < position:
            raise Overlap(f"an edit at offset {start} begins before {position}")
        parts += [text[position:start], new_text]
        position = end
    return "".join([*parts, text[position:]])


def changed_lines(before: str, after: str) -> Iterator[tuple[str, int, str]]:
    """("-" or "+", line number in its own text, line) of each line that differs."""
    old, new = before.split("\n"), after.split("\n")
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield from (("-", i + 1, old[i]) for i in range(i1, i2))
            yield from (("+", j + 1, new[j]) for j in range(j1, j2))


def unified(file: str, before: str, after: str) -> str:
    """The change as a unified diff that ``patch -p1`` and ``git apply`` take; "" where nothing changed."""
    if before == after:
        return ""
    name = file.replace("\\", "/").lstrip("/")
    lines = difflib.unified_diff(_kept_ends(before), _kept_ends(after), f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _kept_ends(text: str) -> list[str]:
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]
