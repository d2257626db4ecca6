"""Reads catalogue entries from their folders, each only when it is asked for."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]

Family: TypeAlias = Literal["causes", "symptoms", "recipes"]
FAMILIES: tuple[Family, ...] = ("symptoms", "causes", "recipes")
LANGUAGES = ("en", "zh")
_FENCE = "+++"
_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Entry:
    """What ``entry.toml`` says of a symptom, a cause or a recipe."""

    name: str
    family: Family
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Text:
    """One language of an entry: its sentences by key, and its page in Markdown."""

    sentences: Mapping[str, str]
    page: str


@functools.cache
def _folder(name: str) -> tuple[Family, Path] | None:
    for family in FAMILIES:
        folder = _HERE / "entries" / family / name
        if (folder / "entry.toml").is_file():
            return family, folder
    return None


def family(name: str) -> Family | None:
    """Which family an entry is of, or None where there is no such entry."""
    found = _folder(name)
    return found[0] if found else None


def names(family: Family) -> list[str]:
    """The names of all entries of a family, sorted."""
    return sorted(file.parent.name for file in (_HERE / "entries" / family).glob("*/entry.toml"))


def files(name: str, folder: str) -> list[str]:
    """The names of the files in a folder of an entry, sorted; [] where it has no such folder."""
    found = _folder(name)
    return sorted(file.name for file in (found[1] / folder).glob("*")) if found else []


@functools.cache
def entry(name: str) -> Entry | None:
    """The entry of that name, or None."""
    found = _folder(name)
    if found is None:
        return None
    family, folder = found
    return Entry(name, family, tomllib.loads((folder / "entry.toml").read_text("utf-8")))


@functools.cache
def raw(name: str, file: str) -> str:
    """The text of a file of an entry, as it stands there; "" where there is none."""
    found = _folder(name)
    if found is None:
        return ""
    try:
        # A search reads all entries: without the ways of pathlib this takes half the time.
        with open(f"{found[1]}/{file}", encoding="utf-8") as opened:  # noqa: PTH123
            return opened.read()
    except FileNotFoundError:
        return ""


def facts_with(name: str, marks: tuple[str, ...]) -> Mapping[str, Any]:
    """The facts of an entry whose file has one of these words in it, else none: most files need not be parsed."""
    content = raw(name, "entry.toml")
    return tomllib.loads(content) if any(mark in content for mark in marks) else {}


@functools.cache
def text(name: str, language: str) -> Text | None:
    """The sentences and the page of an entry in a language, or None where it has none."""
    found = _folder(name)
    file = found[1] / f"{language}.md" if found else None
    if file is None or not file.is_file():
        return None
    head, body = _split(file.read_text("utf-8"))
    return Text({key: str(value) for key, value in tomllib.loads(head).items()}, body)


def _split(content: str) -> tuple[str, str]:
    if not content.startswith(_FENCE):
        return "", content
    head, _, body = content[len(_FENCE) :].partition(f"\n{_FENCE}")
    return head, body.lstrip("\n")


@functools.cache
def words(language: str) -> Mapping[str, str]:
    """The words of the interface in a language."""
    file = _HERE / "words" / f"{language}.toml"
    return tomllib.loads(file.read_text("utf-8")) if file.is_file() else {}


@functools.cache
def contract(language: str) -> Mapping[str, str]:
    """The words of the contract in a language, by ``<table>/<key>``."""
    file = _HERE / "contract" / f"{language}.toml"
    tables = tomllib.loads(file.read_text("utf-8")) if file.is_file() else {}
    return {f"{table}/{key}": str(text) for table, texts in tables.items() for key, text in texts.items()}
