"""One file a symptom: given a failure and what was recorded, findings or "not mine". Found by walking this folder."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, cast

from gradwhy.findings import Finding
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.names import Names
from gradwhy.runtime.watch import Watch


@dataclass(frozen=True, slots=True)
class Situation:
    """All that a probe may look at."""

    failure: Failure
    watch: Watch
    names: Names


class Probe(Protocol):
    """What a module in this folder has."""

    SYMPTOM: str

    def matches(self, failure: Failure) -> bool:
        """Whether the exception is this symptom."""

    def diagnose(self, situation: Situation) -> list[Finding]:
        """The findings, the best first; empty where the facts don't reach."""


def all_probes() -> Iterator[Probe]:
    """The probes, in the order of their names."""
    for module in pkgutil.iter_modules(__path__):
        yield cast(Probe, importlib.import_module(f"{__name__}.{module.name}"))
