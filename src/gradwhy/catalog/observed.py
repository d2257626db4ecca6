"""What was seen when an entry's programs ran, as parts of its page: a traceback, versions of torch, programs of causes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from gradwhy.catalog import load, match, programs, render, versions
from gradwhy.catalog.programs import Program
from gradwhy.catalog.versions import Said

TRACEBACK = "traceback.txt"
_FIRST_PROGRAM = re.compile(r"^```python wrong\n.*?^```\n", re.S | re.M)
_LINES_AT_MOST = 24
_SHOWN = 200
_BEFORE = 60


def with_traceback(body: str, entry: str, heading: Callable[[str], str]) -> str:
    """An entry's page with the traceback of its wrong program after it, where one is stored. ``heading`` is given the version."""
    version, _, shown = load.raw(entry, TRACEBACK).partition("\n")
    block = f"\n{heading(version)}\n```text\n{shown.rstrip()}\n```\n"
    return _FIRST_PROGRAM.sub(lambda found: found[0] + block, body, count=1) if shown else body


def stored_traceback(version: str, shown: str) -> str:
    """What the file of a traceback holds: the version of torch, then the traceback, long ones without their middle."""
    lines = shown.rstrip().split("\n")
    if len(lines) > _LINES_AT_MOST:
        lines = [*lines[: _LINES_AT_MOST // 2], "  …", *lines[-_LINES_AT_MOST // 2 :]]
    return "\n".join((version, *(line.rstrip() for line in lines))) + "\n"


def shows(program: Program, symptom: str) -> bool:
    """Whether a wrong program was seen to end in a symptom's message, or to warn with it, on the newest torch that it ran on."""
    seen = list(versions.said(program).values())
    return bool(seen) and is_of(seen[-1], symptom)


def is_of(said: Said, symptom: str) -> bool:
    """Whether what a program said is a message of a symptom."""
    lines = [said.raised] if said.raised else said.warned
    texts = [line.partition(": ")[2] for line in lines]
    known = [re.compile(each.expression, re.S) for each in match.known_of(symptom) if not each.further]
    return any(each.search(text) for each in known for text in texts)


def programs_of(cause: str, symptom: str) -> tuple[Program, Program] | None:
    """The wrong and the right program of a cause, where the wrong one shows the symptom."""
    wrong, right = (next((each for each in programs.of(cause) if each.kind == kind and not each.key), None)
                    for kind in ("wrong", "right"))  # fmt: skip
    return (wrong, right) if wrong is not None and right is not None and shows(wrong, symptom) else None


def wrong_program(entry: str, key: str) -> Program | None:
    """The program that shows an entry, or one message of it."""
    return next((each for each in programs.of(entry) if each.kind == "wrong" and each.key == key), None)


def by_text(said: dict[str, Said]) -> list[tuple[list[str], str]]:
    """Versions that said the same, with what they said: the exception, else the warnings; "" for nothing."""
    grouped: dict[str, list[str]] = {}
    for version, each in said.items():
        grouped.setdefault(each.raised or " ".join(each.warned), []).append(version)
    return [(group, text) for text, group in grouped.items()]


def shortened(texts: Iterable[str]) -> Iterator[str]:
    """The texts cut to the part where they differ from each other, if they are long."""
    every = list(texts)
    said = [text for text in every if text]
    start = next((at for at, chars in enumerate(zip(*said)) if len(set(chars)) > 1), 0) if len(said) > 1 else 0
    start = max(0, start - _BEFORE)
    for text in every:
        cut = f"…{text[start:].partition(' ')[2]}" if start and text else text
        yield render.one_line(cut, _SHOWN)
