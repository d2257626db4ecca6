"""The audit's table in lines: what is alike folded by module, so that what differs stands out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from gradwhy.findings import Parameter

Status: TypeAlias = Literal[
    "trains", "unchanged", "zero", "none", "not-finite", "left-out", "frozen", "frozen-changed", "idle"
]


@dataclass(frozen=True, slots=True)
class Row:
    """One line: a parameter, or ``count`` of one module that fare alike. ``norms`` and ``changes``: least and greatest."""

    name: str
    count: int
    status: Status
    shape: tuple[int, ...] | None
    group: str
    norms: tuple[float, float]
    changes: tuple[float, float]
    steps: int
    without: int


def status_of(row: Parameter) -> Status:
    """What became of a parameter."""
    if not row.requires_grad:
        return "frozen-changed" if row.changed else "frozen"
    if not row.group:
        return "left-out" if row.passes else "idle"
    if row.gradient == "not-finite":
        return "not-finite"
    if row.without == row.steps or row.gradient == "none":
        return "none"
    if row.gradient == "zero":
        return "zero"
    return "trains" if row.changed else "unchanged"


def rows(parameters: Sequence[Parameter], every: bool = False) -> Iterator[Row]:
    """One row a parameter with ``every``, else the largest parts of the tree of names that fare alike."""
    if every:
        for parameter in parameters:
            yield _row(parameter.name, [parameter])
        return
    yield from _folded(parameters, 0)


def _folded(parameters: Sequence[Parameter], depth: int) -> Iterator[Row]:
    groups: dict[str, list[Parameter]] = {}
    for parameter in parameters:
        head = ".".join(parameter.name.split(".")[: depth + 1])
        groups.setdefault(head, []).append(parameter)
    for name, members in groups.items():
        alike = len({(status_of(m), m.group) for m in members}) == 1
        if alike or all(m.name == name for m in members):
            yield _row(name, members)
        else:
            yield from _folded(members, depth + 1)


def _row(name: str, members: list[Parameter]) -> Row:
    norms, changes = [m.norm for m in members], [m.relative for m in members]
    first = members[0]
    return Row(
        name=name,
        count=len(members),
        status=status_of(first),
        shape=first.shape if len(members) == 1 else None,
        group=first.group,
        norms=(min(norms), max(norms)),
        changes=(min(changes), max(changes)),
        steps=max(m.steps for m in members),
        without=min(m.without for m in members),
    )
