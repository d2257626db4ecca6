"""Applies text edits to program text, and shows them as lines before and after."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from gradwhy.findings import Edit


class Overlap(ValueError):
    """Two edits change the same text."""


def apply(text: str, edits: Iterable[Edit]) -> str:
    """``text`` with the edits made. Lines end in "\\n"; raises Overlap where two edits meet."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    spans = sorted(
        (starts[e.line - 1] + e.column - 1, starts[e.end_line - 1] + e.end_column - 1, e.new_text) for e in edits
    )
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
    old, new = before.splitlines(), after.splitlines()
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield from (("-", i + 1, old[i]) for i in range(i1, i2))
            yield from (("+", j + 1, new[j]) for j in range(j1, j2))
