"""One file a symptom: given a failure and what was recorded, findings or "not mine". Found by walking this folder."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar, cast

from gradwhy.findings import Finding
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.names import Names
from gradwhy.runtime.watch import Watch

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Situation:
    """All that a probe may look at."""

    failure: Failure
    watch: Watch
    names: Names

    def each(self, produce: Callable[[], Iterable[Value]]) -> list[Value]:
        """What one part of the analysis has to say. A part that fails is noted, and the others are heard all the same."""
        try:
            return list(produce())
        except Exception as fault:
            self.watch.recorder.note_fault(fault)
            return []


class Probe(Protocol):
    """What a module in this folder has."""

    SYMPTOM: str
    """The entry of the catalogue. A probe of several symptoms has a function ``symptom`` as well, which tells of a failure
    which it is."""

    def matches(self, failure: Failure) -> bool:
        """Whether the exception is this symptom."""

    def diagnose(self, situation: Situation) -> list[Finding]:
        """The findings, the best first; empty where the facts don't reach."""


def all_probes() -> Iterator[Callable[[], Probe]]:
    """What loads each probe, in the order of their names."""
    for module in pkgutil.iter_modules(__path__):
        yield partial(_load, f"{__name__}.{module.name}")


def _load(name: str) -> Probe:
    return cast(Probe, importlib.import_module(name))
