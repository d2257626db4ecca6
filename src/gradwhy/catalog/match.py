"""Which entry of the catalogue answers for a text: a message, a line of one, or a pasted traceback.

Entries know messages in three ways: ``patterns`` (regular expressions that mean the entry), ``[[messages]]`` (each with its own
meaning and fix) and ``[[stated]]`` of causes (see ``stated.py``). White space counts for nothing, so a text may be wrapped.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from gradwhy.catalog import load
from gradwhy.catalog.pasted import Ending, endings

ANYTHING = "…"
_GAP = re.compile(r"\s+")
_WORDS_AT_LEAST = 14
_META = frozenset("\\.^$*+?{}[]|()")


@dataclass(frozen=True, slots=True)
class Known:
    """One text that an entry knows.

    ``says`` is torch's text, "…" for what varies; ``pattern`` a regular expression in its place. ``shown``: the text is Python's
    own, said of many things, and the traceback has to show this. ``raises``: it counts for that class only.
    """

    entry: str
    symptom: str
    key: str = ""
    says: str = ""
    pattern: str = ""
    shown: str = ""
    raises: str = ""

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
    found: list[Known] = []
    families: tuple[load.Family, ...] = ("symptoms", "causes")
    for family in families:
        for name in load.names(family):
            facts = load.facts_with(name, ("patterns", "[[messages]]", "[[stated]]"))
            found += [Known(name, name, pattern=pattern) for pattern in facts.get("patterns", ())]
            for row in facts.get("messages", ()):
                shared = (row.get("shown", ""), row.get("raises", ""))
                found += [Known(name, name, row["key"], says, "", *shared) for says in row.get("says", ())]
                if "pattern" in row:
                    found.append(Known(name, name, row["key"], "", row["pattern"], *shared))
            found += [Known(name, row["symptom"], row["key"], "", row["pattern"]) for row in facts.get("stated", ())]
    return tuple(found)


def recognise(pasted: str) -> Recognised | None:
    """The exception of a pasted text that the catalogue knows: the last one, else one that it came from."""
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
    best = max(fitting, key=lambda known: (not known.shown, known.symptom == known.entry, known.weight))
    stated = [known for known in fitting if known.entry != known.symptom and known.symptom == best.symptom]
    cause = max(stated, key=lambda known: known.weight).entry if stated else ""
    own = [known for known in fitting if known.entry == best.symptom == known.symptom and known.key]
    key = max(own, key=lambda known: known.weight).key if own else ""
    return Recognised(ending, best.symptom, key, cause, not best.shown or bool(ending.lines))


def _fitting(ending: Ending) -> list[Known]:
    text, squeezed = _GAP.sub(" ", ending.text).strip(), _squeezed(ending.text)
    whole = _GAP.sub(" ", ending.whole).strip()
    shown = "\n".join(f"{line.file} {line.function} {line.source}" for line in ending.lines)
    candidates = [
        known
        for known in all_known()
        if known.core in squeezed
        and known.raises in ("", ending.kind)
        and (not known.shown or not shown or re.search(known.shown, shown))
    ]
    found = [
        known
        for known in candidates
        if re.search(known.expression, text, re.S) or (not known.says and re.search(known.pattern, whole, re.S))
    ]
    if found or "\n" not in ending.text:
        return found
    # A line may have been broken in the middle of a word.
    return [
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
    own = next((known for known in fitting if known.entry == known.symptom), fitting[0])
    return Recognised(ending, own.symptom, own.key if own.entry == own.symptom else "")


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
