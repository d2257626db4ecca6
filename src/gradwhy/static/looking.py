"""Looks at many files: reads, checks and remembers each, in as many processes as it is worth."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gradwhy.findings import Finding, Fix, Location, Message, Report, wire
from gradwhy.source import notebook, text
from gradwhy.source.text import SourceText
from gradwhy.static import checking, settings
from gradwhy.version import VERSION

CACHE = ".gradwhy_cache"
_WORTH_A_PROCESS = 24
"""Fewer files than this are quicker in one process."""
_CHUNK = 32


@dataclass(frozen=True, slots=True)
class Look:
    """What one file gave. ``lines`` is 0 for a file that does not mention torch."""

    file: str
    findings: tuple[Finding, ...] = ()
    skipped: tuple[tuple[Location, Message], ...] = ()
    notes: tuple[Message, ...] = ()
    lines: int = 0


def look_at(file: str, strict: bool) -> Look:
    """Checks one file. What can't be read or parsed is told, our own failures too."""
    try:
        data = Path(file).read_bytes()
    except OSError as error:
        return Look(file, skipped=((Location(file=file, line=1), _told("unreadable", error.strerror or str(error))),))
    if b"torch" not in data:
        return Look(file)
    try:
        content = text.decoded(data) if not file.endswith(".ipynb") else data.decode("utf-8", "replace")
    except (SyntaxError, UnicodeDecodeError, ValueError, LookupError) as error:
        return Look(file, skipped=((Location(file=file, line=1), _told("unreadable", str(error))),))
    return look_at_text(file, content, strict)


def look_at_text(file: str, content: str, strict: bool) -> Look:
    """Checks program text, or a notebook's, under the name of a file."""
    book = notebook.parse(content) if file.endswith(".ipynb") else None
    if file.endswith(".ipynb") and book is None:
        return Look(file, skipped=((Location(file=file, line=1), _told("unreadable", "not a notebook")),))
    content = book.text if book is not None else content
    if not checking.mentions_torch(content):
        return Look(file)
    source = SourceText(file, content)
    if source.tree is None:
        return Look(file, skipped=((_place(_where(content), file, book), _told("not-parsed", "")),))
    try:
        found = checking.check(source, file, strict)
    except Exception as fault:
        return Look(file, notes=(Message("words.own-fault", {"error": f"{type(fault).__name__} in {file}: {fault}"}),))
    kept = [finding for finding in found if not settings.suppressed(finding, source)]
    if book is not None:
        kept = [_in_cells(finding, book) for finding in kept]
    return Look(file, tuple(kept), lines=len(source.lines))


def _told(key: str, reason: str) -> Message:
    return Message(f"words.{key}", {"reason": reason})


def _where(content: str) -> Location:
    try:
        ast.parse(content)
    except SyntaxError as error:
        return Location(file="", line=error.lineno or 1, column=max(error.offset or 1, 1))
    except (ValueError, RecursionError):
        return Location(file="", line=1)
    return Location(file="", line=1)


def _place(at: Location, file: str, book: notebook.Notebook | None) -> Location:
    if book is None:
        return replace(at, file=file)
    cell, line = book.place(at.line)
    return replace(at, file=file, cell=cell, line=line)


def _in_cells(finding: Finding, book: notebook.Notebook) -> Finding:
    """The finding with positions and edits in cells. A fix that changes a magic stays as words."""

    def moved(at: Location) -> Location:
        cell, line = book.place(at.line)
        end = line + (at.end_line - at.line) if at.end_line is not None else None
        return replace(at, cell=cell, line=line, end_line=end)

    return replace(
        finding,
        at=moved(finding.at),
        surfaces_at=moved(finding.surfaces_at) if finding.surfaces_at is not None else None,
        path=tuple(replace(step, at=moved(step.at)) for step in finding.path),
        fixes=tuple(_fix_in_cells(fix, book) for fix in finding.fixes),
        related=tuple(_in_cells(other, book) for other in finding.related),
    )


def _fix_in_cells(fix: Fix, book: notebook.Notebook) -> Fix:
    edits = [book.edit(edit) for edit in fix.edits]
    sure = [edit for edit in edits if edit is not None]
    whole = len(sure) == len(edits)
    return replace(fix, edits=tuple(sure)) if whole else replace(fix, edits=(), applicability="display")


# -- many files


def look_at_all(files: list[str], strict: bool, jobs: int, cache: Cache | None) -> Iterator[Look]:
    """Checks files in order; those that the cache knows unchanged are not read."""
    known = {file: look for file in files if cache is not None and (look := cache.get(file)) is not None}
    todo = [file for file in files if file not in known]
    fresh = (
        _in_processes(todo, strict, jobs)
        if jobs > 1 and len(todo) >= _WORTH_A_PROCESS
        else (look_at(f, strict) for f in todo)
    )
    made = {look.file: look for look in fresh}
    if cache is not None:
        for look in made.values():
            cache.put(look)
    yield from (known.get(file) or made[file] for file in files)


def _in_processes(files: list[str], strict: bool, jobs: int) -> Iterator[Look]:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # Forked where that is possible: the modules are loaded already.
    way = "fork" if sys.platform.startswith("linux") else "spawn"
    parts = [files[i : i + _CHUNK] for i in range(0, len(files), _CHUNK)]
    with ProcessPoolExecutor(min(jobs, len(parts)), get_context(way)) as pool:
        for data in pool.map(_part, parts, [strict] * len(parts)):
            yield from (_from_data(item) for item in data)


def _part(files: list[str], strict: bool) -> list[dict[str, Any]]:
    return [_to_data(look_at(file, strict)) for file in files]


def _to_data(look: Look) -> dict[str, Any]:
    if not (look.findings or look.skipped or look.notes):
        return {"file": look.file, "lines": look.lines}
    report = Report(findings=look.findings, skipped=look.skipped, notes=look.notes)
    return {"file": look.file, "lines": look.lines, "report": wire.to_data(report, lambda message: message.id)}


def _from_data(data: dict[str, Any]) -> Look:
    report = wire.from_data(data["report"]) if "report" in data else Report()
    return Look(data["file"], report.findings, report.skipped, report.notes, data["lines"])


class Cache:
    """What each file gave the last time, in a folder that other tools leave alone."""

    def __init__(self, folder: Path, strict: bool) -> None:
        self.file = folder / CACHE / f"check-{VERSION}-{'strict' if strict else 'default'}.json"
        self.changed = False
        try:
            data = json.loads(self.file.read_text("utf-8"))
            self.known: dict[str, Any] = data["files"] if data.get("of") == _of_ourselves() else {}
        except (OSError, ValueError, KeyError, AttributeError):
            self.known = {}

    def get(self, file: str) -> Look | None:
        entry = self.known.get(file)
        if entry is None or entry["stat"] != _stat(file):
            return None
        try:
            return _from_data(entry["look"])
        except (ValueError, KeyError, TypeError):
            return None

    def put(self, look: Look) -> None:
        stat = _stat(look.file)
        if stat is not None:
            self.known[look.file] = {"stat": stat, "look": _to_data(look)}
            self.changed = True

    def save(self) -> None:
        """Writes the cache; a folder that can't be written to is no reason to fail."""
        if not self.changed:
            return
        try:
            self.file.parent.mkdir(exist_ok=True)
            (self.file.parent / ".gitignore").write_text("*\n")
            temporary = self.file.with_suffix(f".{os.getpid()}")
            temporary.write_text(json.dumps({"of": _of_ourselves(), "files": self.known}), "utf-8")
            temporary.replace(self.file)
        except OSError:
            return


def _stat(file: str) -> list[int] | None:
    try:
        found = os.stat(file)  # noqa: PTH116
    except OSError:
        return None
    return [found.st_mtime_ns, found.st_size]


def _of_ourselves() -> str:
    """Changes with our own rules, so that a newer gradwhy looks again."""
    parts = sorted(Path(__file__).parent.rglob("*.py"))
    facts = [f"{part.name}{_stat(str(part))}" for part in parts]
    facts.append(str(_stat(str(Path(__file__).parents[1] / "torchapi" / "ops.toml"))))
    return hashlib.sha256("".join(facts).encode()).hexdigest()[:16]


def report_of(looks: Iterable[Look], wanted: settings.Settings) -> Report:
    """One report of all files: errors first, then by file and line."""
    looks = list(looks)
    found = [finding for look in looks for finding in look.findings if wanted.wants(finding)]
    rank = {"error": 0, "warning": 1, "note": 2}
    found.sort(key=lambda finding: rank[finding.severity])
    return Report(
        findings=tuple(found),
        examined={
            "files": len(looks),
            "with_torch": sum(look.lines > 0 for look in looks),
            "lines": sum(look.lines for look in looks),
        },
        skipped=tuple(item for look in looks for item in look.skipped),
        notes=tuple(note for look in looks for note in look.notes),
        environment={"python": ".".join(map(str, sys.version_info[:3])), "gradwhy": VERSION},
    )
