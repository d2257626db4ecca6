"""Narrow patches of torch for what no mode sees, one file each: ``install`` puts it in place and returns the undo."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from gradwhy.runtime.watch import Watch


class Patch(Protocol):
    """What a module in this folder has. ``TRACED = True`` in one says that a compiler would trace into what it puts in
    place: it is taken away with the recorder where the program compiles."""

    def install(self, watch: Watch) -> Callable[[], None]:
        """Put it in place, and give back what takes it away."""


def all_patches() -> Iterator[Callable[[], Patch]]:
    """What loads each patch, in the order of their names."""
    for module in pkgutil.iter_modules(__path__):
        yield partial(_load, f"{__name__}.{module.name}")


def _load(name: str) -> Patch:
    return cast(Patch, importlib.import_module(name))
