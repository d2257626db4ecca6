"""Every program that the catalogue shows: those on its pages, those of its messages, and the recipes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from gradwhy.catalog import load

Kind: TypeAlias = Literal["wrong", "right"]

_SHOWN = re.compile(r"^```python (wrong|right)\n(.*?)^```", re.S | re.M)
_OF_A_MESSAGE = re.compile(r"(?P<key>.+)\.(?P<kind>wrong|right)\.py")


@dataclass(frozen=True, slots=True)
class Program:
    """A program, the entry that shows it, and for one of a message the message's key."""

    entry: str
    kind: Kind
    code: str
    key: str = ""

    @property
    def id(self) -> str:
        """Its name among all: ``no-graph.wrong``, ``warned/lr-scheduler-order.right``."""
        return f"{self.entry}{'/' if self.key else ''}{self.key}.{self.kind}"


def every() -> Iterator[Program]:
    """The programs of all entries, by name of the entry."""
    for family in load.FAMILIES:
        for name in load.names(family):
            yield from of(name)


def steady() -> Iterator[Program]:
    """Those that say the same in each run. Programs of several processes (``varies`` in entry.toml) need not."""
    for program in every():
        entry = load.entry(program.entry)
        if entry is not None and not entry.facts.get("varies"):
            yield program


def of(name: str) -> Iterator[Program]:
    """The programs of one entry, but for those that need what not every machine has. They are the same in each language."""
    text = load.text(name, "en")
    if text is not None:
        for kind, code in _SHOWN.findall(text.page):
            yield Program(name, _kind(kind), code)
    entry = load.entry(name)
    messages = entry.facts.get("messages", ()) if entry is not None else ()
    elsewhere = {row["key"] for row in messages if "needs" in row}
    for file in load.files(name, "messages"):
        match = _OF_A_MESSAGE.fullmatch(file)
        if match and match["key"] not in elsewhere:
            yield Program(name, _kind(match["kind"]), load.raw(name, f"messages/{file}"), match["key"])
    if load.family(name) == "recipes":
        yield Program(name, "right", load.raw(name, "recipe.py"))


def _kind(word: str) -> Kind:
    return "wrong" if word == "wrong" else "right"
