"""Which entry of the catalogue answers for a text: a message, a line of one, or a pasted traceback.

Entries know messages in four ways: ``patterns`` (regular expressions that mean the entry), ``lines`` (what those messages say
further on), ``[[messages]]`` (each with its own meaning and fix) and ``[[stated]]`` of causes (see ``stated.py``). White space
counts for nothing, so a text may be wrapped.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradwhy.catalog import load

if TYPE_CHECKING:
    from gradwhy.catalog.pasted import Ending

ANYTHING = "…"
_GAP = re.compile(r"\s+")
_WORDS_AT_LEAST = 14
_META = frozenset("\\.^$*+?{}[]|()")


@dataclass(frozen=True, slots=True)
class Known:
    """One text that an entry knows.

    ``says`` is torch's text, "…" for what varies; ``pattern`` a regular expression in its place. ``shown``: the text is Python's
    own, said of many things, and the traceback has to show this. ``raises``: it counts for that class only. ``cause``: what
    it always comes from.
    """

    entry: str
    symptom: str
    key: str = ""
    says: str = ""
    pattern: str = ""
    shown: str = ""
    raises: str = ""
    cause: str = ""
    stated: bool = False
    further: bool = False

    @property
    def core(self) -> str:
        """A part that any such text has, without white space; "" where none is sure."""
        return _squeezed(max(self.says.split(ANYTHING), key=len) if self.says else _core(self.pattern))

    @property
    def weight(self) -> int:
        """How much of the text is fixed: the more, the surer."""
        return len(self.says.replace(ANYTHING, "")) if self.says else sum(c.isalpha() for c in self.pattern)

    @property
    def expression(self) -> str:
        """The regular expression, for a text whose white space is made single."""
        return ".*?".join(re.escape(part) for part in self.says.split(ANYTHING)) if self.says else self.pattern


@dataclass(frozen=True, slots=True)
class Recognised:
    """An exception of a text, and the entry that answers for it. ``certain`` is False where only the traceback could tell."""

    ending: Ending
    entry: str
    key: str = ""
    cause: str = ""
    certain: bool = True


@functools.cache
def all_known() -> tuple[Known, ...]:
    """Every text that an entry knows."""
    families: tuple[load.Family, ...] = ("symptoms", "causes")
    return tuple(known for family in families for name in load.names(family) for known in known_of(name))


def known_of(name: str) -> list[Known]:
    """The texts that one entry knows."""
    facts = load.facts_with(name, ("patterns", "[[messages]]", "[[stated]]"))
    found = [Known(name, name, pattern=pattern) for pattern in facts.get("patterns", ())]
    found += [Known(name, name, says=line, further=True) for line in facts.get("lines", ())]
    for row in facts.get("messages", ()):
        shared = (row.get("shown", ""), row.get("raises", ""), row.get("cause", ""))
        found += [Known(name, name, row["key"], says, "", *shared) for says in row.get("says", ())]
        if "pattern" in row:
            found.append(Known(name, name, row["key"], "", row["pattern"], *shared))
    for row in facts.get("stated", ()):
        found.append(Known(name, row["symptom"], row["key"], pattern=row["pattern"], cause=name, stated=True))
    return found


def recognise(pasted: str) -> Recognised | None:
    """The exception of a pasted text that the catalogue knows: the last one, else one that it came from."""
    # The page of a name does without it.
    from gradwhy.catalog.pasted import endings

    found = endings(pasted)
    for ending in reversed(found):
        best = of(ending)
        if best is not None:
            return best
    return _part_of_one(found[-1]) if len(found) == 1 and not found[0].lines else None


def of(ending: Ending) -> Recognised | None:
    """The entry that answers for an exception, and where it can be told the cause."""
    fitting = _fitting(ending)
    if not fitting:
        return None
    best = max(fitting, key=lambda known: (not known.shown, not known.further, not known.stated, known.weight))
    stated = [known for known in fitting if known.stated and known.symptom == best.symptom]
    own = [known for known in fitting if not known.stated and known.key and known.symptom == best.symptom]
    row = max(own, key=lambda known: known.weight, default=None)
    cause = max(stated, key=lambda known: known.weight).cause if stated else row.cause if row is not None else ""
    certain = not best.shown or bool(ending.lines)
    return Recognised(ending, best.symptom, row.key if row is not None else "", cause, certain)


@functools.cache
def _cores() -> tuple[tuple[Known, str], ...]:
    return tuple((known, known.core) for known in all_known())


def _fitting(ending: Ending) -> list[Known]:
    text, squeezed = _GAP.sub(" ", ending.text).strip(), _squeezed(ending.text)
    whole = _GAP.sub(" ", ending.whole).strip()
    shown = "\n".join(f"{line.file} {line.function} {line.source}" for line in ending.lines)
    candidates = [
        known
        for known, core in _cores()
        if core in squeezed
        and known.raises in ("", ending.kind)
        and (not known.shown or not shown or re.search(known.shown, shown))
    ]
    found = [
        known
        for known in candidates
        if re.search(known.expression, text, re.S) or (not known.says and re.search(known.pattern, whole, re.S))
    ]
    if any(not known.further for known in found) or "\n" not in ending.text:
        return found
    # A line may have been broken in the middle of a word.
    return found + [
        known
        for known in candidates
        if not known.shown and re.search(known.expression.replace("\\ ", "").replace(" ", ""), squeezed, re.S)
    ]


def _part_of_one(ending: Ending) -> Recognised | None:
    """Of a text that is itself a piece of what one entry knows, such as the middle of a message."""
    piece = _squeezed(ending.text.strip(" .…'\"`")).lower()
    if len(piece) < _WORDS_AT_LEAST:
        return None
    fitting = [known for known in all_known() if not known.shown and piece in _plain(known).lower()]
    if len({known.symptom for known in fitting}) != 1:
        return None
    own = next((known for known in fitting if not known.stated), fitting[0])
    return Recognised(ending, own.symptom, "" if own.stated else own.key, own.cause)


def _plain(known: Known) -> str:
    """The text of a pattern, without white space and the signs of regular expressions."""
    return _squeezed(known.says or re.sub(r"\\[A-Za-z]\+?", "", known.pattern).replace("\\", ""))


def _squeezed(text: str) -> str:
    return _GAP.sub("", text)


def _core(pattern: str) -> str:
    """The longest run of plain characters of a regular expression outside all groups and choices; "" where it has a choice."""
    runs, run, depth, index = [""], "", 0, 0
    while index < len(pattern):
        char = pattern[index]
        if char == "\\" and index + 1 < len(pattern):
            index += 1
            char = "" if pattern[index].isalnum() else pattern[index]
            plain = bool(char)
        else:
            plain = char not in _META
        if char == "[" and not plain:
            end = pattern.find("]", index + 2)
            index = end if end > 0 else len(pattern)
        elif not plain and char in ("(", ")"):
            depth += 1 if char == "(" else -1
        elif not plain and char == "|" and depth == 0:
            return ""
        following = pattern[index + 1 : index + 2]
        if plain and depth == 0 and following not in ("?", "*", "{"):
            run += char
        else:
            runs.append(run)
            run = ""
        index += 1
    return max([*runs, run], key=len)
