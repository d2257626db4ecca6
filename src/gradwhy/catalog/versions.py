"""What the programs of the catalogue did on each version of torch that they were run on.

``versions.json`` has for each program what it said, and on which versions. A program that was changed since has a row for
those versions only on which it was run again: ``make torch-matrix`` does that.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gradwhy.catalog.programs import Program

_FILE = Path(__file__).with_name("versions.json")


@dataclass(frozen=True, slots=True)
class Said:
    """What a program said: the exception that ended it, as Python prints it, or "", and where nothing did, its warnings."""

    raised: str = ""
    warned: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All of it, a line each: the exception first."""
        return "\n".join((self.raised, *self.warned))


def said(program: Program) -> dict[str, Said]:
    """What a program said, by version, the oldest first; {} where it was not run as it is now."""
    row = _stored()["programs"].get(program.id)
    if row is None or row["of"] != _digest(program.code):
        return {}
    by_version = {}
    for text, versions in row["said"].items():
        raised, *warned = text.split("\n")
        by_version.update(dict.fromkeys(versions.split(), Said(raised, tuple(warned))))
    return {version: by_version[version] for version in sorted(by_version, key=numbers)}


def all_versions() -> list[str]:
    """The versions that programs were run on, the oldest first."""
    return sorted(_stored()["python"], key=numbers)


def numbers(version: str) -> tuple[int, ...]:
    """A version as numbers, to compare: ``2.13.0+cpu`` is (2, 13, 0)."""
    return tuple(int(part) for part in version.partition("+")[0].split(".") if part.isdecimal())


def save(torch: str, python: str, results: Mapping[Program, Said]) -> None:
    """Store what the programs said on a version of torch. Rows of programs that are gone, or have another text now, go."""
    rows: dict[str, Any] = {}
    for program, new in results.items():
        known = {version: old.text for version, old in said(program).items()} | {torch: new.text}
        grouped: dict[str, list[str]] = {}
        for version in sorted(known, key=numbers):
            grouped.setdefault(known[version], []).append(version)
        rows[program.id] = {
            "of": _digest(program.code),
            "said": {text: " ".join(versions) for text, versions in grouped.items()},
        }
    pythons = {**_stored()["python"], torch: python}
    lines = ",\n".join(f"{json.dumps(id)}: {json.dumps(rows[id], ensure_ascii=False)}" for id in sorted(rows))
    _FILE.write_text(f'{{"python": {json.dumps(pythons)},\n"programs": {{\n{lines}\n}}}}\n', "utf-8")
    _stored.cache_clear()


@cache
def _stored() -> dict[str, Any]:
    stored: dict[str, Any] = json.loads(_FILE.read_text("utf-8")) if _FILE.is_file() else {"python": {}, "programs": {}}
    return stored


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()[:10]
