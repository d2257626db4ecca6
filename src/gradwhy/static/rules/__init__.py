"""One file a cause, found by walking this folder: what the source alone can show of it."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterable
from typing import Protocol, cast

from gradwhy.findings import Finding
from gradwhy.static.program import Program


class Rule(Protocol):
    """What a module in this folder has; its name is the cause's, with "_" for "-"."""

    def check(self, program: Program) -> Iterable[Finding]:
        """The findings of this cause, in any order."""


@functools.cache
def load() -> dict[str, Rule]:
    """All rules by the cause's name as the folder spells it."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {name: cast(Rule, importlib.import_module(f"{__name__}.{name}")) for name in names}
