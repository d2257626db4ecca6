"""One file a remark that a careful reviewer adds beside the fault. Found by walking this folder."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from typing import Protocol, cast

from gradwhy.findings import Finding
from gradwhy.runtime.probes import Situation


class Review(Protocol):
    """What a module in this folder has."""

    def review(self, situation: Situation) -> Iterable[Finding]:
        """Findings of severity note or warning, each seen in the run."""


def all_reviews() -> Iterator[Review]:
    """The reviews, in the order of their names."""
    for module in pkgutil.iter_modules(__path__):
        yield cast(Review, importlib.import_module(f"{__name__}.{module.name}"))
