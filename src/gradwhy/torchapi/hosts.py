"""Which option of a trainer or another package to change: a typed view of hosts.toml. Nothing of theirs is imported."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]


@dataclass(frozen=True, slots=True)
class HostRow:
    """What a package does on its caller's behalf (hosts.toml explains the fields)."""

    files: tuple[str, ...]
    functions: tuple[str, ...]
    causes: tuple[str, ...]
    advice: str
    case: str
    under: tuple[str, ...] = ()

    def fits(self, frames: Sequence[tuple[str, str]]) -> bool:
        """``frames``: (file, function) from the inside out."""
        for depth, (file, function) in enumerate(frames):
            if function in self.functions and self._has(file):
                outer = {name for _, name in frames[depth + 1 :]}
                return not self.under or bool(outer.intersection(self.under))
        return False

    def _has(self, file: str) -> bool:
        path = "/" + file.replace("\\", "/")
        return any(f"/{part}" in path if part.endswith("/") else path.endswith(f"/{part}") for part in self.files)


@functools.lru_cache(maxsize=1)
def rows() -> tuple[HostRow, ...]:
    """All rows, in the order in which they are asked."""
    data = tomllib.loads((Path(__file__).parent / "hosts.toml").read_text(encoding="utf-8"))
    return tuple(HostRow(**_fields(raw)) for raw in data["host"])


def _fields(raw: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in raw.items()}


def advice(cause: str, stacks: Iterable[Sequence[tuple[str, str]]]) -> str:
    """The key of the advice for a cause that came about in one of these stacks, "" where no package of ours is in them."""
    kept = [stack for stack in stacks if stack]
    if not kept:
        return ""
    return next((row.advice for row in rows() if cause in row.causes and any(row.fits(stack) for stack in kept)), "")
