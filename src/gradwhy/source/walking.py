"""Finds the Python files and notebooks under the given paths, without what .gitignore leaves out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pathspec

_ENDINGS = (".py", ".ipynb")
_NEVER = frozenset({
    ".git", ".hg", ".svn", "__pycache__", ".venv", "venv", "node_modules", ".tox", ".nox", ".eggs", ".ipynb_checkpoints",
    ".mypy_cache", ".ruff_cache", ".pytest_cache", ".gradwhy_cache", "build", "dist",
})  # fmt: skip


def files(paths: Iterable[str], exclude: Iterable[str] = ()) -> Iterator[str]:
    """The files to look at, each once, in order. A file that is named is taken whatever it is called."""
    seen: set[str] = set()
    for path in paths:
        for found in _under(path, tuple(exclude)) if Path(path).is_dir() else [path]:
            if found not in seen:
                seen.add(found)
                yield found


def left_out(file: str, exclude: Iterable[str] = ()) -> bool:
    """Whether a walk through the folders around a file would leave it out."""
    path = Path(file).absolute()
    ignores = _above(path.parent)
    own = _read(path.parent / ".gitignore")
    ignores += [(str(path.parent), own)] if own is not None else []
    patterns = tuple(exclude)
    return bool(_NEVER & set(Path(file).parts)) or _ignored(file, False, ignores, _spec(patterns) if patterns else None)


def _under(folder: str, exclude: tuple[str, ...]) -> Iterator[str]:
    left_out = _spec(exclude) if exclude else None
    ignores = _above(Path(folder))
    yield from _walk(folder, ignores, left_out)


Ignores = list[tuple[str, "pathspec.GitIgnoreSpec"]]


def _walk(folder: str, ignores: Ignores, left_out: pathspec.GitIgnoreSpec | None) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    if any(entry.name == ".gitignore" for entry in entries):
        own = _read(Path(folder, ".gitignore"))
        ignores = [*ignores, (os.path.abspath(folder), own)] if own is not None else ignores  # noqa: PTH100
    for entry in entries:
        is_folder = entry.is_dir(follow_symlinks=False)
        if not is_folder and not entry.name.endswith(_ENDINGS):
            continue
        if (is_folder and entry.name in _NEVER) or _ignored(entry.path, is_folder, ignores, left_out):
            continue
        if is_folder:
            yield from _walk(entry.path, ignores, left_out)
        else:
            yield entry.path


def _ignored(path: str, is_folder: bool, ignores: Ignores, left_out: pathspec.GitIgnoreSpec | None) -> bool:
    if not ignores and left_out is None:
        return False
    full = os.path.abspath(path)  # noqa: PTH100
    end = "/" if is_folder else ""
    if left_out is not None and left_out.match_file(os.path.relpath(full).replace(os.sep, "/") + end):
        return True
    return any(spec.match_file(os.path.relpath(full, base).replace(os.sep, "/") + end) for base, spec in ignores)


def _above(folder: Path) -> Ignores:
    """The .gitignore files of the folders around, up to the repository's root."""
    found: Ignores = []
    folder = folder.absolute()
    if (folder / ".git").exists():
        return found
    for parent in folder.parents:
        own = _read(parent / ".gitignore")
        if own is not None:
            found.append((str(parent), own))
        if (parent / ".git").exists():
            return found
    # Not in a repository: what the folders above say is of no concern here.
    return []


def _read(file: Path) -> pathspec.GitIgnoreSpec | None:
    try:
        lines = file.read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    return _spec(lines)


def _spec(lines: Iterable[str]) -> pathspec.GitIgnoreSpec:
    import pathspec

    return pathspec.GitIgnoreSpec.from_lines(lines)
