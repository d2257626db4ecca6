"""A sentence that has not been written yet: the name of a text in the catalogue, and the facts that fill it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Code:
    """The user's own program text: shown quoted, never translated."""

    text: str


Argument: TypeAlias = "str | int | float | Code | Message"


@dataclass(frozen=True, slots=True)
class Message:
    """``id`` is ``<entry>.<key>``, such as ``argmax.cut``; the catalogue has its words in each language."""

    id: str
    args: Mapping[str, Argument] = field(default_factory=lambda: MappingProxyType({}))

    def __hash__(self) -> int:
        return hash((self.id, tuple(sorted((k, repr(v)) for k, v in self.args.items()))))
