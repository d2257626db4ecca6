"""The cells of a notebook that runs: which count and line each line of executed code is, and a report in those terms."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from gradwhy.findings import Edit, Location, Report
from gradwhy.runtime.sites import display_path, take_as_users
from gradwhy.source import text
from gradwhy.source.locating import LIVE, give_cell

Value = TypeVar("Value")


@dataclasses.dataclass(frozen=True)
class Cell:
    """One execution. ``number``: its count; ``above``: lines of the cell that stand above the code, such as ``%%time``;
    ``identity``: which cell of the notebook it is, as far as the front end tells."""

    number: int
    code: str
    above: int
    identity: str | None = None


class Cells:
    """All that were executed, by the name that their code has for a file."""

    def __init__(self) -> None:
        self._of: dict[str, Cell] = {}
        self._names: dict[str, list[str]] = {}

    def add(self, name: str, cell: Cell, written: str) -> None:
        """Know a cell whose code is about to run. ``written`` is the cell as it was typed; what differs from the code that runs,
        such as magics, is shown as typed."""
        earlier = self._names.setdefault(cell.identity, []) if cell.identity is not None else []
        for gone in earlier:
            text.drop_cell(gone)
        earlier[:] = [name]
        self._of[name] = cell
        text.give_cell(name, cell.code)
        take_as_users(name)
        give_cell(cell.number, _shown(cell, written))

    def forget(self, name: str) -> None:
        """The name will stand for something else."""
        if self._of.pop(name, None) is not None:
            text.drop_cell(name)
            take_as_users(name, False)

    def distinct(self, name: str, code: str, identity: str | None, number: int) -> str:
        """The name, or another where it stands for another cell: two with the same text are two. Where the front end does not
        tell which cell it is, a cell that is executed again is another one."""
        known = self._of.get(name)
        if known is None or (known.code == code and identity is not None and identity == known.identity):
            return name
        head, dot, tail = name.rpartition(".")
        return f"{head}_{number}.{tail}" if dot else f"{name}_{number}"

    def report(self, report: Report) -> Report:
        """The same report with places in cells by count and line."""
        return _relocated(report, {display_path(name): cell for name, cell in self._of.items()})


def _shown(cell: Cell, written: str) -> str:
    """The lines of a cell: as they run, so that columns hold, and as typed where IPython has put a call in their place."""
    typed = written.split("\n")
    lines = typed[: cell.above]
    for number, line in enumerate(cell.code.rstrip("\n").split("\n"), start=cell.above):
        lines.append(typed[number] if line.lstrip().startswith("get_ipython()") and number < len(typed) else line)
    return "\n".join(lines)


def _relocated(value: Value, cells: Mapping[str, Cell]) -> Value:
    found: Any = value
    if isinstance(value, (Location, Edit)) and value.cell is None and value.file in cells:
        cell = cells[value.file]
        end = value.end_line
        found = dataclasses.replace(
            value,
            file=LIVE,
            cell=cell.number,
            line=value.line + cell.above,
            end_line=end + cell.above if end is not None else end,  # type: ignore[arg-type]
        )
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        changed = {f.name: _relocated(getattr(value, f.name), cells) for f in dataclasses.fields(value)}
        found = dataclasses.replace(value, **changed)
    elif isinstance(value, tuple):
        found = tuple(_relocated(each, cells) for each in value)
    elif isinstance(value, Mapping):
        found = {key: _relocated(each, cells) for key, each in value.items()}
    return found  # type: ignore[no-any-return]
