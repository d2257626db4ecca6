"""How a file is read: by itself or with the other files of its project, and with what the project's settings say."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from gradwhy.source.modules import Folders, Named, Root, roots_of
from gradwhy.source.text import SourceText
from gradwhy.static.flow.project import Loaded, Project
from gradwhy.static.flow.run import SINKS
from gradwhy.static.flow.values import Imported
from gradwhy.static.settings import NOTHING, Knowledge

_WORDS = ("backward", "autograd", "optim", "requires_grad", "require_grad", "grad")


def mentions_torch(text: str) -> bool:
    """The first look: whether a file can have anything to do with gradients at all."""
    return "torch" in text and any(word in text for word in _WORDS)


@dataclass(frozen=True, slots=True)
class Context:
    """The project around a file: ``home`` is the file itself, ``first`` what it imports, ``behind`` all that this leads to."""

    project: Project
    home: Loaded
    first: tuple[Named, ...]
    behind: tuple[Named, ...]

    def sources(self) -> list[SourceText]:
        found = (self.project.source(named.file) for named in self.behind)
        return [source for source in found if source is not None]

    def goes_backward(self) -> bool:
        """Whether the file or what it leads to has a backward pass of torch somewhere."""
        own = self.home.source.text
        facts = [self.project.mentions(named) for named in self.behind]
        if facts and any(sink in own for sink in SINKS):
            return "torch" in own or any(torch for torch, _ in facts)
        return any(torch and sink for torch, sink in facts)

    def rests_on(self) -> tuple[str, ...]:
        """The files and folders whose content has a say in what is found; folders end in a separator."""
        named = (self.home.value.named, *self.behind)
        folders = {folder for one in named for folder in self.project.asked.get(one, ())}
        return (*(one.file for one in self.behind), *sorted(folder + os.sep for folder in folders))


class Reading:
    """``given`` are the folders and files that were asked for; None where each file is read by itself."""

    def __init__(self, knowledge: Knowledge = NOTHING, given: tuple[str, ...] | None = None) -> None:
        self.knowledge = knowledge
        self.given = given
        self._folders = Folders()
        self._projects: dict[tuple[Root, ...], Project] = {}
        self._marks: dict[str, str] = {}
        self._roots: dict[str, tuple[tuple[Root, ...], str]] = {}

    def roots(self, file: str) -> tuple[tuple[Root, ...], str]:
        """(where absolute names are looked up for a file, its own folder where that is searched too)."""
        folder = os.path.dirname(os.path.abspath(file))  # noqa: PTH100, PTH120
        if folder not in self._roots:
            self._roots[folder] = roots_of(file, self.given or ())
        return self._roots[folder]

    def around(self, file: str, source: SourceText) -> Context | None:
        """The project around a file; None where each file is read by itself."""
        if self.given is None:
            return None
        roots, script = self.roots(file)
        if roots not in self._projects:
            absolute = bool(self.given) and all(Path(path).is_absolute() for path in self.given)
            self._projects[roots] = Project(roots, self._folders, absolute, self.knowledge)
        project = self._projects[roots]
        full = os.path.abspath(file)  # noqa: PTH100
        package = os.path.dirname(full) if full.endswith(f"{os.sep}__init__.py") else ""  # noqa: PTH120
        home = Loaded(Imported(Named(full, package, script)), project.same(source, full), "script")
        first = project.imported_by(home.source, home.value.named)
        return Context(project, home, first, tuple(project.behind(first)))

    def mark(self, file: str, rests_on: tuple[str, ...]) -> str:
        """Changes where something does that a look at a file rests on."""
        parts = [repr(self.roots(file)), *(f"{path}={self._mark(path)}" for path in rests_on)]
        return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def _mark(self, path: str) -> str:
        if path not in self._marks:
            is_folder = path.endswith(os.sep)
            self._marks[path] = self._folders.mark(path.rstrip(os.sep)) if is_folder else str(stat_of(path))
        return self._marks[path]

    def facts(self) -> str:
        """What the settings and the way of reading change for every file."""
        return repr((sorted(self.knowledge.cuts), sorted(self.knowledge.keeps), self.given))


def stat_of(file: str) -> list[int] | None:
    """(time of change in ns, bytes), or None where there is no such file."""
    try:
        found = os.stat(file)  # noqa: PTH116
    except OSError:
        return None
    return [found.st_mtime_ns, found.st_size]
