"""Corrects files by what ``check`` finds in them: makes a fix, looks again, until none is left."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from gradwhy.findings import Edit, Finding
from gradwhy.source import edits as source_edits
from gradwhy.source import notebook, text
from gradwhy.source.saving import Change
from gradwhy.static import looking, settings
from gradwhy.static.reading import Reading

_FIXES = 50


@dataclass(frozen=True, slots=True)
class Corrected:
    """What became of one file: its changed parts, how many fixes they are, and the findings that are left."""

    changes: tuple[Change, ...] = ()
    fixes: int = 0
    look: looking.Look = field(default_factory=lambda: looking.Look(""))


def correct(look: looking.Look, content: str, strict: bool, wanted: settings.Settings, unsafe: bool) -> Corrected:
    """The text of a file, or the JSON of a notebook, with all fixes made that may be: safe ones, with ``unsafe`` all.

    Nothing is written. Fixes are made one at a time, and the file is looked at again after each.
    """
    now, count = content, 0
    # The same place is changed once: an edit that does not help must not be made again on its own result.
    done: set[str] = set()
    for _ in range(_FIXES):
        for finding, edits in _edits(filter(wanted.wants, look.findings), unsafe):
            if finding.fingerprint in done:
                continue
            after = _applied(look.file, now, edits)
            if after is not None:
                done.add(finding.fingerprint)
                now, count = after, count + 1
                break
        else:
            break
        look = looking.look_at_text(look.file, now, strict, Reading(wanted.knowledge))
    return Corrected(tuple(_changes(look.file, content, now)), count, look)


def together(findings: Iterable[Finding], unsafe: bool) -> list[Change]:
    """One round over the files of a project, whose findings and edits may be in any of them: all fixes that don't meet."""
    taken: dict[_Unit, list[Edit]] = {}
    after: dict[_Unit, tuple[str, str]] = {}
    for _, edits in _edits(findings, unsafe):
        units = list(dict.fromkeys((edit.file, edit.cell) for edit in edits))
        all_edits = {u: [*taken.get(u, ()), *(e for e in edits if (e.file, e.cell) == u)] for u in units}
        try:
            made = {unit: _with(unit, mine) for unit, mine in all_edits.items()}
        except (SyntaxError, ValueError):
            continue
        taken |= all_edits
        after |= made
    return [Change(file, before, now, cell) for (file, cell), (before, now) in after.items()]


_Unit: TypeAlias = "tuple[str, int | None]"


def _with(unit: _Unit, edits: list[Edit]) -> tuple[str, str]:
    """(text before, text after) of a file or cell. Raises ValueError or SyntaxError where the edits don't fit."""
    file, cell = unit
    before = content_of(file)
    if before is not None and cell is not None:
        before = notebook.source(before, cell)
    if before is None:
        raise ValueError(file)
    after = source_edits.apply(before, edits)
    if cell is None:
        ast.parse(after)
    return before, after


def content_of(file: str) -> str | None:
    """What ``correct`` wants of a file: its text, or its JSON; None where it can't be read."""
    source = text.read(file)
    return source.text if source is not None else None


def _edits(findings: Iterable[Finding], unsafe: bool) -> Iterator[tuple[Finding, tuple[Edit, ...]]]:
    for finding in findings:
        for fix in finding.fixes:
            if fix.edits and (unsafe or fix.applicability == "safe"):
                yield finding, fix.edits
                break


def _applied(file: str, now: str, edits: tuple[Edit, ...]) -> str | None:
    if any(edit.file != file for edit in edits):
        return None
    try:
        if file.endswith(".ipynb"):
            cells: dict[int, str] = {}
            for cell in dict.fromkeys(edit.cell or 0 for edit in edits):
                source = notebook.source(now, cell)
                if source is None:
                    return None
                cells[cell] = source_edits.apply(source, [edit for edit in edits if edit.cell == cell])
            after = notebook.rewritten(now, cells)
            book = notebook.parse(after)
            ast.parse(book.text if book is not None else "(")
        else:
            after = source_edits.apply(now, edits)
            ast.parse(after)
    except (SyntaxError, ValueError):
        return None
    return after


def _changes(file: str, before: str, after: str) -> Iterator[Change]:
    if not file.endswith(".ipynb"):
        if before != after:
            yield Change(file, before, after)
        return
    book = notebook.parse(before)
    for cell, _ in book.cells if book is not None else ():
        old, new = notebook.source(before, cell), notebook.source(after, cell)
        if old is not None and new is not None and old != new:
            yield Change(file, old, new, cell)
