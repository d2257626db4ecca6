"""The report formats, found by walking this folder: ``to_<name>.py`` with a function ``write(report, **options)``."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

import gradwhy.report
from gradwhy.findings import Report

_PREFIX = "to_"


@dataclass(frozen=True, slots=True)
class Look:
    """How a text report may look: columns, colours, language. Formats for machines use the language only."""

    language: str = "en"
    width: int = 100
    colour: bool = False
    every_row: bool = False
    """Whether a table shows each parameter, or what is alike in one line."""


class Format(Protocol):
    """What a module ``to_<name>.py`` in this folder has."""

    def write(self, report: Report, look: Look) -> str:
        """The whole text, with a final newline; "" where there is nothing to say."""


def names() -> list[str]:
    """The names that ``--format`` takes."""
    found = pkgutil.iter_modules([str(Path(gradwhy.report.__file__).parent)])
    return sorted(m.name.removeprefix(_PREFIX) for m in found if m.name.startswith(_PREFIX))


def load(name: str) -> Format:
    """The format of that name. Raises ModuleNotFoundError where there is none."""
    return cast(Format, importlib.import_module(f"gradwhy.report.{_PREFIX}{name}"))
