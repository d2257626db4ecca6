"""One file a silent fault: what it looks like in the ledger, and the line to change. Found by walking this folder."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Protocol, cast

from gradwhy.findings import Finding
from gradwhy.runtime.audit.case import Case


class Fault(Protocol):
    """What a module in this folder has."""

    RANK: int
    """Which findings come first, where several are as certain: lower ones explain more."""

    def find(self, case: Case) -> Iterable[Finding]:
        """The findings, the best first; none where what was seen has another explanation."""


def all_faults() -> Iterator[Callable[[], Fault]]:
    """What loads each fault, in the order of their names."""
    for module in pkgutil.iter_modules(__path__):
        yield partial(_load, f"{__name__}.{module.name}")


def _load(name: str) -> Fault:
    return cast(Fault, importlib.import_module(name))
