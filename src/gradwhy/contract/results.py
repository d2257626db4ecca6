"""What was seen on each version of torch, as it is stored in results/.

``outcomes.json`` has each outcome once, for all versions. ``<version>.json`` has for each combination of the table, in its
order, the number of its outcome, in runs: ``3x12`` is outcome 3 for twelve combinations, ``-`` is one that was not run. A block
that is added at the end of axes.toml leaves what is stored valid; another change does not, and ``is_stale`` tells.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gradwhy.contract import axes, outcomes
from gradwhy.contract.axes import Combination
from gradwhy.contract.outcomes import Outcome

_FOLDER = Path(__file__).parent / "results"
_OUTCOMES = "outcomes.json"
_NONE = "-"
_LINE = 24


@dataclass(frozen=True, slots=True)
class Record:
    """The runs on one version of torch."""

    torch: str
    python: str
    source: str
    """Where the results come from: ``table``, our own generator, or ``earlier``, see docs/decisions.md."""
    rows: Mapping[Combination, Outcome]


def versions() -> list[str]:
    """The versions of torch that there are results of, the oldest first."""
    found = [file.stem for file in _FOLDER.glob("*.json") if file.name != _OUTCOMES]
    return sorted(found, key=_numbers)


def version_of(wanted: str) -> str | None:
    """The stored version that is meant: ``2.4`` is the newest of 2.4, ``2.13.0+cpu`` is 2.13.0."""
    wanted = wanted.partition("+")[0]
    fitting = [each for each in versions() if each == wanted or each.startswith(f"{wanted}.")]
    return fitting[-1] if fitting else None


def nearest(wanted: str) -> str:
    """The stored version nearest to one that may not be stored: the newest that is not newer, else the oldest."""
    exact = version_of(wanted)
    if exact is not None:
        return exact
    older = [each for each in versions() if _numbers(each) <= _numbers(wanted)]
    return older[-1] if older else versions()[0]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.partition("+")[0].split(".") if part.isdecimal())


@cache
def load(version: str) -> Record:
    """Read the results of a stored version."""
    data = _data(version)
    known = _outcomes()
    numbers = _unrolled(data["rows"])
    rows = {each: known[number] for each, number in zip(axes.table(), numbers) if number is not None}
    return Record(data["torch"], data["python"], data["source"], rows)


def is_stale(version: str) -> bool:
    """Whether the table in axes.toml has changed since the results of a version were stored, other than at its end."""
    data = _data(version)
    return bool(data["table"] != _digest(axes.table()[: len(_unrolled(data["rows"]))]))


def _data(version: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((_FOLDER / f"{version}.json").read_text("utf-8"))
    return data


@cache
def _outcomes() -> list[Outcome]:
    file = _FOLDER / _OUTCOMES
    if not file.is_file():
        return []
    data = json.loads(file.read_text("utf-8"))
    texts: list[str] = data["texts"]
    return [outcomes.read([_told(step, texts) for step in each]) for each in data["outcomes"]]


def _told(step: Mapping[str, Any], texts: Sequence[str]) -> dict[str, Any]:
    told = dict(step)
    if "raised" in told:
        told["raised"] = (told["raised"][0], texts[told["raised"][1]])
    if "warned" in told:
        told["warned"] = [(kind, texts[number]) for kind, number in told["warned"]]
    return told


def save(record: Record) -> None:
    """Write the results of a version; outcomes that are new are added to those of all versions."""
    known = [*_outcomes()]
    numbers = {outcome: number for number, outcome in enumerate(map(_frozen, known))}
    runs: list[str] = []
    for each in axes.table():
        outcome = record.rows.get(each)
        word = _NONE
        if outcome is not None:
            key = _frozen(outcome)
            if key not in numbers:
                numbers[key] = len(known)
                known.append(outcome)
            word = str(numbers[key])
        runs.append(word)
    _FOLDER.mkdir(exist_ok=True)
    (_FOLDER / _OUTCOMES).write_text(_written(known), "utf-8")
    data = {"torch": record.torch, "python": record.python, "source": record.source, "table": _digest(axes.table())}
    rolled = _rolled(runs)
    lines = [" ".join(rolled[at : at + _LINE]) for at in range(0, len(rolled), _LINE)]
    (_FOLDER / f"{record.torch}.json").write_text(json.dumps({**data, "rows": lines}, indent=0) + "\n", "utf-8")
    _outcomes.cache_clear()
    load.cache_clear()


def _written(known: list[Outcome]) -> str:
    texts: dict[str, int] = {}
    lines = []
    for outcome in known:
        steps = outcome.wire()
        for step in steps:
            if "raised" in step:
                step["raised"][1] = texts.setdefault(step["raised"][1], len(texts))
            for warning in step.get("warned", ()):
                warning[1] = texts.setdefault(warning[1], len(texts))
        lines.append(json.dumps(steps, separators=(",", ":")))
    said = ",\n".join(json.dumps(text) for text in texts)
    return '{"texts": [\n' + said + '\n],\n"outcomes": [\n' + ",\n".join(lines) + "\n]}\n"


def _frozen(outcome: Outcome) -> str:
    return json.dumps(outcome.wire(), sort_keys=True)


def _rolled(words: Sequence[str]) -> list[str]:
    rolled: list[str] = []
    start = 0
    for at in range(1, len(words) + 1):
        if at == len(words) or words[at] != words[start]:
            rolled.append(words[start] if at - start == 1 else f"{words[start]}x{at - start}")
            start = at
    return rolled


def _unrolled(lines: Sequence[str]) -> list[int | None]:
    numbers: list[int | None] = []
    for run in " ".join(lines).split():
        word, _, count = run.partition("x")
        numbers += [None if word == _NONE else int(word)] * int(count or 1)
    return numbers


def _digest(table: Sequence[Combination]) -> str:
    return hashlib.sha256("\n".join(map(str, table)).encode()).hexdigest()[:16]
