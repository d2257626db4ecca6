"""One file a kind of origin: each looks behind a loss without a path and offers explanations, or none."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from typing import Protocol, cast

from gradwhy.runtime.explanation import Explanation, Loss
from gradwhy.runtime.probes import Situation


class Origin(Protocol):
    """What a module in this folder has."""

    def explain(self, loss: Loss, situation: Situation) -> Iterable[Explanation]:
        """Explanations that the record supports."""


def all_origins() -> Iterator[Origin]:
    """The origins, in the order of their names."""
    for module in pkgutil.iter_modules(__path__):
        yield cast(Origin, importlib.import_module(f"{__name__}.{module.name}"))
