"""Looks at many files: reads, checks and remembers each, in as many processes as it is worth."""

from __future__ import annotations

import ast
import gc
import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gradwhy.findings import Finding, Fix, Location, Message, Report, wire
from gradwhy.source import notebook, text, walking
from gradwhy.source.text import SourceText
from gradwhy.static import checking, settings
from gradwhy.static.reading import Reading, stat_of
from gradwhy.version import VERSION

ALONE = Reading()
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
    rests_on: tuple[str, ...] = ()
    """The other files and folders that had a say in it."""


def look_at(file: str, strict: bool, reading: Reading = ALONE) -> Look:
    """Checks one file. What can't be read or parsed is told, our own failures too."""
    try:
        data = Path(file).read_bytes()
    except OSError as error:
        return Look(file, skipped=((Location(file=file, line=1), _told("unreadable", error.strerror or str(error))),))
    if b"torch" not in data and reading.given is None:
        return Look(file)
    try:
        content = text.decoded(data) if not file.endswith(".ipynb") else data.decode("utf-8", "replace")
    except (SyntaxError, UnicodeDecodeError, ValueError, LookupError) as error:
        return Look(file, skipped=((Location(file=file, line=1), _told("unreadable", str(error))),))
    return look_at_text(file, content, strict, reading)


def look_at_text(file: str, content: str, strict: bool, reading: Reading = ALONE) -> Look:
    """Checks program text, or a notebook's, under the name of a file."""
    book = notebook.parse(content) if file.endswith(".ipynb") else None
    if file.endswith(".ipynb") and book is None:
        unread = Look(file, skipped=((Location(file=file, line=1), _told("unreadable", "not a notebook")),))
        return unread if "torch" in content else Look(file)
    content = book.text if book is not None else content
    concerns = checking.mentions_torch(content)
    if not concerns and reading.given is None:
        return Look(file)
    source = SourceText(file, content)
    try:
        around = reading.around(file, source)
        rests_on = around.rests_on() if around is not None else ()
        if around is not None and not around.goes_backward():
            # Nothing in another file can matter to a loss: the file is read by itself.
            around = None
        if not concerns and around is None:
            return Look(file, rests_on=rests_on)
        if source.tree is None:
            return Look(file, skipped=((_place(_where(content), file, book), _told("not-parsed", "")),))
        found = checking.check(source, file, strict, around, reading.knowledge)
    except Exception as fault:
        return Look(file, notes=(Message("words.own-fault", {"error": f"{type(fault).__name__} in {file}: {fault}"}),))
    texts = {other.path: other for other in around.sources()} if around is not None else {}
    kept = [finding for finding in found if not settings.suppressed(finding, texts.get(finding.at.file, source))]
    if book is not None:
        kept = [_in_cells(finding, book) for finding in kept]
    return Look(file, tuple(kept), lines=len(source.lines), rests_on=rests_on)


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
        if not at.file.endswith(".ipynb"):
            return at
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


def look_at_all(
    files: list[str], strict: bool, jobs: int, cache: Cache | None, reading: Reading = ALONE
) -> Iterator[Look]:
    """Checks files in order; those that the cache knows unchanged are not read."""
    known = {file: look for file in files if cache is not None and (look := cache.get(file)) is not None}
    todo = [file for file in files if file not in known]
    fresh = (
        _in_processes(todo, strict, jobs, reading)
        if jobs > 1 and len(todo) >= _WORTH_A_PROCESS
        else (look_at(f, strict, reading) for f in todo)
    )
    made = {look.file: look for look in fresh}
    if cache is not None:
        for look in made.values():
            cache.put(look)
    yield from (known.get(file) or made[file] for file in files)


def _in_processes(files: list[str], strict: bool, jobs: int, reading: Reading) -> Iterator[Look]:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # Forked where that is possible: the modules are loaded already.
    way = "fork" if sys.platform.startswith("linux") else "spawn"
    parts = [files[i : i + _CHUNK] for i in range(0, len(files), _CHUNK)]
    told = (reading.knowledge, reading.given)
    with ProcessPoolExecutor(min(jobs, len(parts)), get_context(way), _begin, told) as pool:
        for data in pool.map(_part, parts, [strict] * len(parts)):
            yield from (_from_data(item) for item in data)


_here = ALONE
"""How files are read in a process of ours."""


def collect_less() -> None:
    """Syntax trees of a whole project are kept: Python's collector would go through them again and again, 40 % of the time."""
    gc.set_threshold(50_000, 20, 100)


def _begin(knowledge: settings.Knowledge, given: tuple[str, ...] | None) -> None:
    global _here
    collect_less()
    _here = Reading(knowledge, given)


def _part(files: list[str], strict: bool) -> list[dict[str, Any]]:
    return [{**_to_data(look), "rests_on": look.rests_on} for look in (look_at(f, strict, _here) for f in files)]


def _to_data(look: Look) -> dict[str, Any]:
    if not (look.findings or look.skipped or look.notes):
        return {"file": look.file, "lines": look.lines}
    report = Report(findings=look.findings, skipped=look.skipped, notes=look.notes)
    return {"file": look.file, "lines": look.lines, "report": wire.to_data(report, lambda message: message.id)}


def _from_data(data: dict[str, Any]) -> Look:
    report = wire.from_data(data["report"]) if "report" in data else Report()
    rests_on = tuple(data.get("rests_on", ()))
    return Look(data["file"], report.findings, report.skipped, report.notes, data["lines"], rests_on)


class Cache:
    """What each file gave the last time, in a folder that other tools leave alone."""

    def __init__(self, folder: Path, strict: bool, reading: Reading = ALONE) -> None:
        kind = f"{'strict' if strict else 'default'}{'-project' if reading.given is not None else ''}"
        self.file = folder / CACHE / f"check-{VERSION}-{kind}.json"
        self.changed = False
        self.reading = reading
        self._of = _of_ourselves(reading)
        try:
            data = json.loads(self.file.read_text("utf-8"))
            same = data.get("of") == self._of
            self.known: dict[str, Any] = data["files"] if same else {}
            self.paths: list[str] = data["paths"] if same else []
        except (OSError, ValueError, KeyError, AttributeError):
            self.known, self.paths = {}, []
        self._number = {path: number for number, path in enumerate(self.paths)}

    def get(self, file: str) -> Look | None:
        entry = self.known.get(file)
        try:
            if entry is None or entry["stat"] != stat_of(file):
                return None
            rests_on = tuple(self.paths[number] for number in entry.get("rests_on", ()))
            if self.reading.given is not None and entry["mark"] != self.reading.mark(file, rests_on):
                return None
            return _from_data(entry["look"])
        except (ValueError, KeyError, TypeError, IndexError):
            return None

    def put(self, look: Look) -> None:
        stat = stat_of(look.file)
        if stat is None:
            return
        entry: dict[str, Any] = {"stat": stat, "look": _to_data(look)}
        if self.reading.given is not None:
            entry["mark"] = self.reading.mark(look.file, look.rests_on)
            entry["rests_on"] = [self._index(path) for path in look.rests_on]
        self.known[look.file] = entry
        self.changed = True

    def _index(self, path: str) -> int:
        if path not in self._number:
            self._number[path] = len(self.paths)
            self.paths.append(path)
        return self._number[path]

    def save(self) -> None:
        """Writes the cache; a folder that can't be written to is no reason to fail."""
        if not self.changed:
            return
        try:
            self.file.parent.mkdir(exist_ok=True)
            (self.file.parent / ".gitignore").write_text("*\n")
            temporary = self.file.with_suffix(f".{os.getpid()}")
            temporary.write_text(json.dumps({"of": self._of, "paths": self.paths, "files": self.known}), "utf-8")
            temporary.replace(self.file)
        except OSError:
            return


def _of_ourselves(reading: Reading) -> str:
    """Changes with our own rules, so that a newer gradwhy looks again, and with the project's settings."""
    parts = sorted(Path(__file__).parent.rglob("*.py"))
    facts = [f"{part.name}{stat_of(str(part))}" for part in parts]
    facts.append(str(stat_of(str(Path(__file__).parents[1] / "torchapi" / "ops.toml"))))
    return hashlib.sha256("".join([*facts, reading.facts()]).encode()).hexdigest()[:16]


def report_of(looks: Iterable[Look], wanted: settings.Settings) -> Report:
    """One report of all files: errors first, then by file and line."""
    looks = list(looks)
    own = {look.file for look in looks}
    told = [finding for look in looks for finding in look.findings if wanted.wants(finding)]
    left_out = {
        file: walking.left_out(file, wanted.exclude) for file in sorted({finding.at.file for finding in told} - own)
    }
    found = list(_once(finding for finding in told if not left_out.get(finding.at.file)))
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


def _once(found: Iterable[Finding]) -> Iterator[Finding]:
    """A cut that several files lead to is told where it is met first."""
    seen: set[tuple[object, ...]] = set()
    for finding in found:
        at = finding.at
        key = (finding.cause, os.path.abspath(at.file), at.cell, at.line, at.column)  # noqa: PTH100
        if key not in seen:
            seen.add(key)
            yield finding
