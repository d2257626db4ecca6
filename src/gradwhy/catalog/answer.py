"""What `gradwhy explain` answers: the entry that a name or a text means, and what the text shows beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradwhy.catalog import likely, load, match
from gradwhy.catalog.likely import Seen

if TYPE_CHECKING:
    from gradwhy.catalog.pasted import Shown

_CODE = re.compile(r"^\s*(?:\w+\s*)?\[([\w-]+)\]\s*$")
_OPERATION = re.compile(r"^\.?[A-Za-z_][\w.]*(?:\(\))?$")
_NEAR = 0.6


@dataclass(frozen=True, slots=True)
class Answer:
    """An entry, and where it was asked for by a text, how the text was recognised and what its lines show."""

    entry: str
    recognised: match.Recognised | None = None
    seen: tuple[Seen, ...] = ()
    own: tuple[Shown, ...] = ()
    """The lines of the text that are the user's, the last one nearest to the failure."""

    @property
    def is_one_of_many(self) -> bool:
        """Whether the entry is a collection of kin, whose page and programs speak of all of them and not of this message."""
        found = load.entry(self.entry)
        return found is not None and "messages" in found.facts and "patterns" not in found.facts

    @property
    def row(self) -> Mapping[str, Any] | None:
        """The row of the entry's ``[[messages]]`` that the text is one of."""
        found, key = load.entry(self.entry), self.recognised.key if self.recognised is not None else ""
        rows = found.facts.get("messages", ()) if found is not None and key else ()
        return next((row for row in rows if row["key"] == key), None)

    @property
    def is_symptom(self) -> bool:
        found = load.entry(self.entry)
        return found is not None and found.family == "symptoms"


def by_name(asked: str) -> Answer | None:
    """The entry of a name, in whatever spelling: `argmax`, `No-Graph`, `error[argmax]`, `torch.argmax`, `.detach()`, `PINN`."""
    code = _CODE.match(asked)
    wanted = _plain(code[1] if code else asked)
    if re.fullmatch(r"[\w-]+", wanted) and load.family(wanted):
        return Answer(wanted)
    for name in every_name():
        if _plain(name) == wanted:
            return Answer(name)
    for name in load.names("recipes"):
        if wanted in _keywords(name):
            return Answer(name)
    if not _OPERATION.match(asked.strip()):
        return None
    from gradwhy.torchapi import table

    row = table.load().op(asked.strip().strip(".").removesuffix("()"))
    return Answer(row.cause) if row is not None and row.cause and load.entry(row.cause) is not None else None


def by_text(pasted: str) -> Answer | None:
    """The entry of a message, or of the last exception of a traceback that has one."""
    recognised = match.recognise(pasted)
    if recognised is None:
        return None
    lines = recognised.ending.lines
    seen = likely.seen(lines, recognised.entry)
    own = tuple(line for line in lines if line.at and likely.is_own(line))
    return Answer(recognised.entry, recognised, tuple(seen), own)


def every_name() -> Iterator[str]:
    """The names of all entries: symptoms, causes, recipes."""
    for family in load.FAMILIES:
        yield from load.names(family)


def near(asked: str) -> list[str]:
    """Names of entries, and of those whose messages are like the text: what may have been meant."""
    import difflib

    wanted = _plain(asked)
    names = {word: name for name in load.names("recipes") for word in _keywords(name)}
    names |= {_plain(name): name for name in every_name()}
    close = difflib.get_close_matches(wanted, names, n=3, cutoff=_NEAR)
    found = [names[name] for name in close] + [
        name for plain, name in names.items() if len(wanted) > 3 and wanted in plain
    ]
    if " " in asked.strip():
        said = {known.says or known.pattern.replace("\\", ""): known.symptom for known in match.all_known()}
        found += [said[text] for text in difflib.get_close_matches(asked[:400], said, n=3, cutoff=_NEAR)]
    return list(dict.fromkeys(found))[:4]


def search(words: list[str], language: str) -> list[str]:
    """Entries whose name, title, sentences or page have all the words; those with all of them in name or title first."""
    wanted = [word.casefold() for word in words]
    found: list[tuple[int, str]] = []
    for name in every_name():
        head = f"{name} {name.replace('-', ' ').replace('_', ' ')} {likely.title(name, language)}".casefold()
        whole = f"{head} {load.raw(name, f'{language}.md')} {load.raw(name, 'entry.toml')}".casefold()
        if all(word in whole for word in wanted):
            found.append((-sum(word in head for word in wanted), name))
    return [name for _, name in sorted(found, key=lambda item: item[0])]


def _keywords(recipe: str) -> list[str]:
    """What else a recipe is called."""
    entry = load.entry(recipe)
    return [_plain(word) for word in entry.facts.get("keywords", ())] if entry is not None else []


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "-", name.strip().casefold())
