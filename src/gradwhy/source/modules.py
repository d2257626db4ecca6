"""Finds the files of a project that import statements mean. Nothing is imported."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Folders that are no root. Inside of others they can't be reached: no name in an import statement has a hyphen."""
_IMPORT = re.compile(
    r"^[ \t]*((?:import\b|from\b[^\n#]*?\bimport\b)(?:[ \t]*\((?:#[^\n]*|[^)#])*\)|(?:[^\n#;\\]|\\\n)*))", re.MULTILINE
)
_ELSEWHERE = frozenset({"torch", "numpy", "builtins", *sys.stdlib_module_names})
"""Names that keep their meaning, whatever a project calls its files."""


@dataclass(frozen=True, slots=True)
class Root:
    """A folder that absolute names are looked up in; ``only`` is the one package that it is there for, "" for all."""

    folder: str
    only: str = ""


@dataclass(frozen=True, slots=True)
class Named:
    """What a module's name stands for: a file, a package's ``__init__.py`` with its folder, or (``file`` empty) a folder
    without one. ``script`` is the folder of the script whose imports found it there, "" where any script finds it."""

    file: str
    folder: str = ""
    script: str = ""


def statements(text: str) -> Iterator[ast.stmt]:
    """The import statements that begin a line, found without parsing the text around them: most files of a project are
    only passed through. What stands in a string is taken for one too."""
    for match in _IMPORT.finditer(text):
        try:
            yield from ast.parse(match[1]).body
        except (SyntaxError, ValueError):
            continue


class Folders:
    """What is in the folders of a project, each read once."""

    def __init__(self) -> None:
        self._known: dict[str, frozenset[str]] = {}
        self.asked: set[str] = set()
        """The folders that were looked into since somebody emptied this."""

    def entries(self, folder: str) -> frozenset[str]:
        """The Python files of a folder, and its folders with a "/" behind their names."""
        self.asked.add(folder)
        known = self._known.get(folder)
        if known is None:
            try:
                with os.scandir(folder) as found:
                    known = frozenset(
                        f"{entry.name}/" if entry.is_dir() else entry.name
                        for entry in found
                        if (entry.name.endswith(".py") or entry.name.isidentifier()) and entry.name != "__pycache__"
                    )
            except OSError:
                known = frozenset()
            self._known[folder] = known
        return known

    def mark(self, folder: str) -> str:
        """Changes where a file or folder comes or goes that an import could find."""
        return hashlib.sha256("\n".join(sorted(self.entries(folder))).encode()).hexdigest()[:12]

    def locate(self, folder: str, parts: list[str]) -> Named | None:
        """What ``a.b.c`` means in a folder."""
        for part in parts[:-1]:
            entries = self.entries(folder)
            inner = str(Path(folder, part))
            if f"{part}/" not in entries or (f"{part}.py" in entries and not self.is_package(inner)):
                return None
            folder = inner
        entries = self.entries(folder)
        last = parts[-1]
        inner = str(Path(folder, last))
        if f"{last}/" in entries and self.is_package(inner):
            return Named(str(Path(inner, "__init__.py")), inner)
        if f"{last}.py" in entries:
            return Named(str(Path(folder, f"{last}.py")))
        return Named("", inner) if f"{last}/" in entries else None

    def is_package(self, folder: str) -> bool:
        return "__init__.py" in self.entries(folder)


class Finder:
    """Resolves the names in import statements against the roots of a project."""

    def __init__(self, roots: tuple[Root, ...], folders: Folders) -> None:
        self.roots = roots
        self.folders = folders

    def absolute(self, name: str, script: str) -> Named | None:
        """``a.b.c``: what the script's own folder has, else what the roots have where they agree. What is installed and
        what belongs to Python or torch is not of the project."""
        parts = name.split(".")
        if parts[0] in _ELSEWHERE:
            return None
        own = self.folders.locate(script, parts) if script else None
        if own is not None and own.file:
            return Named(own.file, own.folder, script)
        places = [root.folder for root in self.roots if root.only in ("", parts[0])]
        found = [named for place in places if (named := self.folders.locate(place, parts)) is not None]
        choice = dict.fromkeys(named for named in found if named.file) or dict.fromkeys(found)
        if len(choice) == 1:
            return next(iter(choice))
        # A folder without a file of its own comes last, as it does in Python.
        return Named("", own.folder, script) if own is not None and not choice else None

    def relative(self, file: str, level: int, name: str, script: str) -> Named | None:
        """``from ..a import b`` in a file."""
        folder = Path(file).parent
        for _ in range(level - 1):
            folder = folder.parent
        if name:
            found = self.folders.locate(str(folder), name.split("."))
        else:
            init = str(folder / "__init__.py")
            found = Named(init if self.folders.is_package(str(folder)) else "", str(folder))
        return Named(found.file, found.folder, script) if found is not None else None

    def part(self, package: Named, name: str) -> Named | None:
        """A file or package inside a package."""
        if not package.folder:
            return None
        found = self.folders.locate(package.folder, [name])
        return Named(found.file, found.folder, package.script) if found is not None else None

    def imported(self, text: str, file: str, script: str) -> Iterator[Named]:
        """All that the import statements of a file mean and that has a file, wherever in it they stand."""
        for node in statements(text):
            for named in self._of(node, file, script):
                if named.file:
                    yield named

    def _of(self, node: ast.AST, file: str, script: str) -> Iterator[Named]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                for end in range(len(parts), 0, -1):
                    named = self.absolute(".".join(parts[:end]), script)
                    if named is not None:
                        yield named
        elif isinstance(node, ast.ImportFrom):
            base = self.base(node, file, script)
            if base is None:
                return
            yield base
            for alias in node.names:
                part = self.part(base, alias.name) if alias.name != "*" else None
                if part is not None:
                    yield part

    def base(self, node: ast.ImportFrom, file: str, script: str) -> Named | None:
        """What the names of ``from base import …`` are taken from."""
        if node.level:
            return self.relative(file, node.level, node.module or "", script)
        return self.absolute(node.module, script) if node.module else None


def roots_of(file: str, given: Iterable[str]) -> tuple[tuple[Root, ...], str]:
    """(where absolute names are looked up for a file, its own folder where it is run as a script).

    The roots are the folder above the file's package, the folder of the nearest pyproject.toml and its ``src``, and the
    given folders.
    """
    own = Path(file).absolute().parent
    top = own
    while (top / "__init__.py").is_file() and top != top.parent:
        top = top.parent
    roots: list[Root] = []
    if top != own:
        roots.append(Root(str(top), own.relative_to(top).parts[0]))
    project = next((folder for folder in (own, *own.parents) if (folder / "pyproject.toml").is_file()), None)
    if project is not None:
        roots += [Root(str(folder)) for folder in (project, project / "src") if folder.is_dir()]
    for path in given:
        folder = Path(path).absolute()
        if folder.is_dir() and folder.name not in _INSTALLED and not (folder / "__init__.py").is_file():
            roots.append(Root(str(folder)))
    full = {root.folder for root in roots if not root.only}
    kept = tuple(dict.fromkeys(root for root in roots if not root.only or root.folder not in full))
    script = "" if top != own or str(own) in full else str(own)
    return kept, script
