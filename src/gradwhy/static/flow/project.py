"""The files of a project beside the one that is looked at: each is interpreted once, and lent to those that import it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gradwhy.source import text
from gradwhy.source.modules import Finder, Folders, Named, Root
from gradwhy.source.text import SourceText
from gradwhy.static.flow.frames import Event
from gradwhy.static.flow.graph import groups, within
from gradwhy.static.flow.histories import DEFAULT_MODE, UNKNOWN_FLOW, Fields, Flow, GradMode, Value
from gradwhy.static.flow.reached import reached
from gradwhy.static.flow.trail import MISSING
from gradwhy.static.flow.values import Const, Imported, Scalar, Unknown
from gradwhy.static.settings import Knowledge

if TYPE_CHECKING:
    from gradwhy.static.flow.run import Run

BUDGET = 20_000
"""Expressions that the top level of an imported file may cost."""
FILES = 300
"""What leads to more files than this is not followed."""
_NESTED = 12
"""How deep files that import each other in a circle are interpreted inside one another."""


@dataclass(slots=True, eq=False)
class Loaded:
    """A file of the project, interpreted: ``value`` holds what its top level has defined."""

    value: Imported
    source: SourceText
    state: str = "new"
    """"new", "loading", "done", or "closed": what can't be followed is as out of sight as an installed package. "script" for
    the file that is looked at."""
    meddled: list[tuple[Fields, object]] = field(default_factory=list)
    """Slots of other files' values that it wrote to; several may, so what is there afterwards is not known."""
    imports: list[Loaded] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    mode: GradMode | None = None
    late: list[tuple[Fields, str, Value, str]] = field(default_factory=list)
    """Names that files in a circle with this one took from it before they were there: (names, name, stand-in, its name here)."""


class Project:
    """The files that scripts of one project can import. ``absolute`` says how they are named in findings."""

    def __init__(self, roots: tuple[Root, ...], folders: Folders, absolute: bool, knowledge: Knowledge) -> None:
        self.finder = Finder(roots, folders)
        self.knowledge = knowledge
        self.absolute = absolute
        self.files: dict[Named, Loaded] = {}
        self.by_names: dict[int, Loaded] = {}
        self._sources: dict[str, SourceText | None] = {}
        self._imported: dict[Named, tuple[Named, ...]] = {}
        self._mentions: dict[Named, tuple[bool, bool]] = {}
        self._behind: dict[Named, tuple[list[Named], bool]] = {}
        self.asked: dict[Named, frozenset[str]] = {}
        """The folders that were looked into for the imports of a file."""
        self._lent: dict[int, tuple[Loaded, Fields]] = {}
        """The files whose values live in a dict of the state, by the dict's id."""
        self._loading: list[Loaded] = []

    # -- text

    def source(self, file: str) -> SourceText | None:
        """The text of a file, read and parsed once; None where it can't be."""
        if file not in self._sources:
            try:
                content = text.decoded(Path(file).read_bytes())
            except (OSError, SyntaxError, UnicodeDecodeError, ValueError, LookupError):
                self._sources[file] = None
                return None
            self._sources[file] = SourceText(file if self.absolute else os.path.relpath(file), content)
        return self._sources[file]

    def same(self, source: SourceText, file: str) -> SourceText:
        """The text that is known for a file already where it is the same."""
        known = self.source(file) if file.endswith(".py") else None
        if known is None or known.text != source.text:
            return source
        known.path = source.path
        return known

    def mentions(self, named: Named) -> tuple[bool, bool]:
        """Whether a file mentions torch, and a backward pass."""
        if named not in self._mentions:
            from gradwhy.static.flow.run import SINKS

            source = self.source(named.file)
            content = source.text if source is not None else ""
            self._mentions[named] = "torch" in content, any(sink in content for sink in SINKS)
        return self._mentions[named]

    def imported(self, named: Named) -> tuple[Named, ...]:
        """The files that a file names in import statements."""
        if named not in self._imported:
            source = self.source(named.file)
            self._imported[named] = self.imported_by(source, named) if source is not None else ()
        return self._imported[named]

    def imported_by(self, source: SourceText, named: Named) -> tuple[Named, ...]:
        """The same for text that stands for a file."""
        asked = self.finder.folders.asked
        asked.clear()
        found = dict.fromkeys(self.finder.imported(source.text, named.file, named.script))
        self.asked[named] = frozenset(asked)
        return tuple(found)

    def behind(self, first: tuple[Named, ...]) -> list[Named]:
        """The files that these lead to, themselves included; of too many the first."""
        found = dict.fromkeys(first)
        for named in first:
            found.update(dict.fromkeys(self._within(named)[0]))
        return list(found)

    def _within(self, named: Named) -> tuple[list[Named], bool]:
        if named not in self._behind:
            self._behind[named] = within(named, self.imported, FILES)
        return self._behind[named]

    # -- loading

    def prepare(self, first: tuple[Named, ...]) -> None:
        """Interprets what a file imports and what that imports, before the file itself: so the order in which files are
        looked at has no influence on what is found."""
        for named in first:
            if (known := self.files.get(named)) is not None and known.state != "new":
                continue
            behind, complete = self._within(named)
            if not complete:
                self._file(named).state = "closed"
                continue
            for group in groups(behind, self.imported):
                for one in sorted(group, key=_from_the_top):
                    self._load(self._file(one))

    def _file(self, named: Named) -> Loaded:
        if named not in self.files:
            source = self.source(named.file)
            made = Loaded(Imported(named), source or SourceText(named.file, ""))
            if source is None or source.tree is None:
                made.state = "closed"
            self.files[named] = made
            self.by_names[id(made.value.f)] = made
        return self.files[named]

    def _load(self, file: Loaded) -> None:
        if file.state != "new":
            return
        from gradwhy.static.flow.run import OutOfBudget, Run

        file.state = "loading"
        names = file.value.f
        names.update({"__name__": Const(Path(file.value.named.file).stem), "__file__": Scalar()})
        if self._loading:
            self._claim(self._loading[-1])
        self._loading.append(file)
        run = Run(file.source, BUDGET, self, file, self.knowledge)
        outcome = "closed"
        try:
            run.block(file.source.tree.body if file.source.tree is not None else [])
            outcome = "done"
        except (OutOfBudget, RecursionError):
            pass
        finally:
            self._loading.pop()
            file.state = outcome
            self._take(file, run)
            run.leave()
        for taken_by, name, stand_in, wanted in file.late:
            if wanted in names and taken_by.get(name) is stand_in:
                taken_by[name] = names[wanted]

    def _take(self, file: Loaded, run: Run) -> None:
        """Keeps what the top level of a file has done, apart from what the files that it imports have."""
        if file.state != "done":
            return
        file.mode = run.mode if run.mode is not DEFAULT_MODE else None
        self._claim(file)
        for fields, key in run.keep(lambda fields: self._lent.get(id(fields), (file, fields))[0] is file):
            file.meddled.append((fields, key))
        file.events = [event for event in run.events if id(event) not in run.borrowed]
        file.imports = list(run.imports.values())

    def _claim(self, file: Loaded) -> None:
        """What the names of a file hold is its own, unless it is of a file that was there before."""

        def others(fields: Fields) -> bool:
            owner = self._lent.get(id(fields))
            return owner[0] is not file if owner is not None else self.by_names.get(id(fields), file) is not file

        for part in reached(file.value.f, others):
            self._lent.setdefault(id(part), (file, part))

    # -- importing

    def enter(self, r: Run, named: Named) -> Loaded | None:
        """A file is imported: what it defines is there from now on. None where it can't be followed."""
        file = self._file(named)
        if file.state == "new" and self._loading and len(self._loading) <= _NESTED:
            # In a circle of files; all others have been prepared.
            self._load(file)
        if file.state == "closed" or (file.state == "new" and not self._loading):
            return None
        r.imports[id(file)] = file
        lend(r, file)
        return file


def _from_the_top(named: Named) -> tuple[bool, int, str]:
    """Of files that import each other, packages come first: whoever imports a part has imported its package."""
    return Path(named.file).name != "__init__.py", named.file.count(os.sep), named.file


def lend(r: Run, file: Loaded) -> None:
    """What a file has done beyond its own names is done here too, after what the files that it imports have."""
    seen = {id(file)}
    todo = [(file, iter(file.imports))]
    meddled: list[tuple[Fields, object]] = []
    while todo:
        one, rest = todo[-1]
        part = next((p for p in rest if id(p) not in seen and id(p) not in r.entered), None)
        if part is not None:
            seen.add(id(part))
            todo.append((part, iter(part.imports)))
            continue
        todo.pop()
        if one.state == "done" and id(one) not in r.entered:
            r.entered[id(one)] = one
            meddled += one.meddled
            for event in one.events:
                r.borrowed[id(event)] = event
                r.events.append(event)
            if one.mode is not None:
                r.write(r.state, "mode", one.mode)
    for fields, key in meddled:
        _blur(r, fields, key)


def _blur(r: Run, fields: Fields, key: object) -> None:
    before = fields.get(key, MISSING)
    if key in ("items", "rest"):
        r.put(fields, "rest", Unknown())
    elif isinstance(before, Flow):
        r.put(fields, key, UNKNOWN_FLOW)
    elif before is MISSING or isinstance(before, Value):
        r.put(fields, key, Unknown())
