"""``[tool.gradwhy]`` of pyproject.toml, and the comments that suppress a finding."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from gradwhy.findings import Finding
from gradwhy.source.text import SourceText

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]

_COMMENT = re.compile(r"#\s*gradwhy:\s*ignore(?:\[([^\]]*)\])?")
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")
_KEYS = {"select", "ignore", "exclude", "per-file-ignores", "cuts", "keeps"}


class Wrong(ValueError):
    """The configuration can't be read."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What a project says of functions whose source is not read: the dotted names of those whose result has no gradient
    path, and of those whose result has that of their arguments. ``Class.method`` is a method, wherever the class is from."""

    cuts: frozenset[str] = frozenset()
    keeps: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.cuts or self.keeps)

    def effect(self, path: str) -> Literal["cut", "keep"] | None:
        """What a call of ``path`` does, where the project says it."""
        _, _, method = path.rpartition(".")
        owner = path[: -len(method) - 1].rpartition(".")[2]
        names = {path, f"{owner}.{method}"} if owner[:1].isupper() else {path}
        return "cut" if names & self.cuts else "keep" if names & self.keeps else None


NOTHING: Final = Knowledge()


@dataclass(frozen=True, slots=True)
class Settings:
    """``select`` empty means every cause; ``per_file`` holds (pattern, causes)."""

    select: frozenset[str] = frozenset()
    ignore: frozenset[str] = frozenset()
    exclude: tuple[str, ...] = ()
    per_file: tuple[tuple[str, frozenset[str]], ...] = field(default=())
    knowledge: Knowledge = NOTHING

    def wants(self, finding: Finding) -> bool:
        """Whether a finding is asked for."""
        if (self.select and finding.cause not in self.select) or finding.cause in self.ignore:
            return False
        for pattern, causes in self.per_file:
            if finding.cause in causes and (Path(finding.at.file).match(pattern) or finding.at.file == pattern):
                return False
        return True


def load(start: Path, causes: Iterable[str]) -> Settings:
    """The settings of the nearest pyproject.toml that has a table for gradwhy."""
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        if not file.is_file():
            continue
        try:
            table = tomllib.loads(file.read_text("utf-8")).get("tool", {}).get("gradwhy")
        except (OSError, ValueError) as error:
            raise Wrong(f"{file}: {error}") from error
        if table is not None:
            return _settings(table, str(file), set(causes))
    return Settings()


def _settings(table: Any, file: str, known: set[str]) -> Settings:
    if not isinstance(table, dict) or not table.keys() <= _KEYS:
        strange = sorted(set(table) - _KEYS) if isinstance(table, dict) else table
        raise Wrong(f"{file}: [tool.gradwhy] has {strange}, known are {sorted(_KEYS)}")
    per_file = table.get("per-file-ignores", {})
    if not isinstance(per_file, dict):
        raise Wrong(f"{file}: per-file-ignores is a table of pattern = [causes]")
    named = [*_names(table, "select", file), *_names(table, "ignore", file)]
    named += [name for pattern in per_file for name in _names(per_file, pattern, file)]
    strange = sorted(set(named) - known)
    if strange:
        raise Wrong(f"{file}: there is no cause named {strange[0]!r}")
    return Settings(
        frozenset(_names(table, "select", file)),
        frozenset(_names(table, "ignore", file)),
        tuple(_names(table, "exclude", file)),
        tuple((pattern, frozenset(_names(per_file, pattern, file))) for pattern in per_file),
        _knowledge(table, file),
    )


def _knowledge(table: dict[str, Any], file: str) -> Knowledge:
    found = Knowledge(frozenset(_names(table, "cuts", file)), frozenset(_names(table, "keeps", file)))
    for name in sorted(found.cuts | found.keeps):
        if not _DOTTED.fullmatch(name):
            raise Wrong(f"{file}: {name!r} is no dotted name such as 'package.function' or 'Class.method'")
    for name in sorted(found.cuts & found.keeps):
        raise Wrong(f"{file}: {name!r} is in cuts and in keeps")
    return found


def _names(table: dict[str, Any], key: str, file: str) -> list[str]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Wrong(f"{file}: {key} is a list of strings")
    return value


def suppressed(finding: Finding, source: SourceText) -> bool:
    """Whether a comment on the finding's lines asks for silence: ``# gradwhy: ignore[argmax]``, or all without a name."""
    last = finding.at.end_line or finding.at.line
    if last - finding.at.line > 30:
        last = finding.at.line
    for line in range(finding.at.line, last + 1):
        found = _COMMENT.search(source.line(line))
        if found is not None:
            names = [name.strip() for name in (found[1] or "").split(",") if name.strip()]
            if not names or finding.cause in names:
                return True
    return False
