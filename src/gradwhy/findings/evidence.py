"""One fact that a finding rests on, and whether it was seen or worked out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeAlias

from gradwhy.findings.location import Location
from gradwhy.findings.message import Message

EvidenceKind: TypeAlias = Literal[
    "tensor", "grad-mode", "graph", "parameter", "optimizer", "value", "source", "exception"
]
Scalar: TypeAlias = "str | int | float | bool | tuple[int, ...] | None"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """``observed`` is True for what was seen while the program ran, False for what follows from its source.

    ``facts`` holds JSON scalars (shapes as tuples of int); ``claim`` says it in a sentence where facts don't.
    """

    kind: EvidenceKind
    subject: str
    facts: Mapping[str, Scalar] = field(default_factory=lambda: MappingProxyType({}))
    claim: Message | None = None
    at: Location | None = None
    observed: bool = True
