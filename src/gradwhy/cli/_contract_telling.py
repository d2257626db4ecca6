"""How ``gradwhy contract`` writes an answer: for people, as Markdown, and as JSON."""

from __future__ import annotations

import json
import re
import textwrap
import unicodedata
from collections.abc import Iterator
from typing import Any

from gradwhy.catalog import load, render
from gradwhy.contract import axes, programs
from gradwhy.contract.answer import Answer
from gradwhy.contract.axes import Combination
from gradwhy.contract.outcomes import Outcome, Shape, Step
from gradwhy.findings import Message

_WIDTH = 80
_LABEL = 9
_PLACES = {"input": 0, "output": 1, "graph": 2}


def words(key: str, language: str, **facts: str | int) -> str:
    """A sentence of the contract."""
    return render.sentence(Message(f"contract.{key}", facts), language)


def label(axis: str, value: str, language: str) -> str:
    """What a value is called for people: ``a leaf without the flag``; Python's own words stay as they are."""
    for key in (f"{axis}/{value}", f"switch/{value}"):
        if key in load.contract("en"):
            return words(key, language)
    return value


def written(answer: Answer, format_name: str, language: str, live: Answer | None = None) -> str:
    """The answer in a format. ``live`` is the same combination, just run: the answer itself where nothing is stored."""
    if live is not None and answer.outcome is None:
        answer, live = live, None
    if format_name == "json":
        return json.dumps(_data(answer, language, live), ensure_ascii=False, indent=2) + "\n"
    return "\n".join(_markdown(answer, language, live) if format_name == "md" else _text(answer, language, live)) + "\n"


def _data(answer: Answer, language: str, live: Answer | None) -> dict[str, Any]:
    data = answer.wire()
    if answer.outcome is not None:
        data["message"] = headline(answer, language)
    data["fix"] = fix(answer, language)
    if live is not None:
        same = live.outcome == answer.outcome
        data["live"] = {"torch": live.used, "same": same, "outcome": live.outcome.wire() if live.outcome else None}
    return data


def fix(answer: Answer, language: str) -> str | None:
    """What to change, or None where nothing is wrong or nobody knows."""
    if answer.verdict is None or answer.verdict.fix is None:
        return None
    return words(f"fix/{answer.verdict.fix}", language)


def more(answer: Answer) -> str | None:
    """The command that explains the cause, else the message."""
    verdict = answer.verdict
    name = (verdict.cause or verdict.symptom) if verdict is not None else None
    return f"gradwhy explain {name}" if name else None


def headline(answer: Answer, language: str) -> str:
    """What happened, in a line: the exception as Python shows it, or what torch gave without one."""
    assert answer.outcome is not None
    step = answer.outcome.decisive
    if step.raised is not None:
        return exception(step)
    silence = answer.verdict.silence if answer.verdict is not None else None
    return words(f"say/{silence or 'fine'}", language)


def exception(step: Step) -> str:
    """``RuntimeError: text``."""
    return ": ".join(step.raised) if step.raised is not None else ""


def _text(answer: Answer, language: str, live: Answer | None) -> Iterator[str]:
    yield from _wrapped(answer.combination["call"] if answer.outcome is None else _titled(answer, language), 0)
    yield ""
    for name, value in _chosen(answer.combination, language):
        yield from _labelled(name, value)
    yield ""
    if answer.outcome is None:
        yield from _wrapped(words("say/not-run", language, version=answer.wanted), 0)
    else:
        yield from _wrapped(headline(answer, language), 0)
        yield ""
        yield from _body(answer, language)
    if live is not None and live.outcome is not None:
        yield from _labelled(words("say/live", language), _compared(answer, live, language))
        if live.outcome != answer.outcome:
            for key, value in _outcome(live.outcome, live.combination, language):
                yield from _labelled(key, value)
    yield ""
    yield f"  {words('say/program', language)}"
    yield from textwrap.indent(answer.program, "    ").rstrip().splitlines()


def _titled(answer: Answer, language: str) -> str:
    return f"{label('call', answer.combination['call'], language)}, torch {answer.used}"


def _chosen(combination: Combination, language: str) -> Iterator[tuple[str, str]]:
    """The questions and their answers: the first three always, the others where they are not the default."""
    names = {key: words(f"say/{key}", language) for key in ("input", "graph", "output")}
    # How the output was made is told after what it is; the rest keeps its order.
    for name in sorted(axes.of_call(combination["call"]), key=lambda name: _PLACES.get(name, 3)):
        axis = axes.axes()[name]
        value = combination[name]
        if name in names or name in ("body", "arg"):
            yield names.get(name, name), label(name, value, language)
        elif value != axis.default and not axis.keyword:
            yield words(f"say/{name}", language), label(name, value, language)
    switches = [axis for name, axis in axes.axes().items() if axis.keyword and combination[name] != axis.default]
    if switches:
        passed = (f"{axis.keyword}={combination[axis.name]}" for axis in switches)
        yield words("say/with", language), render.sentence(Message("words.comma"), language).join(passed)


def _body(answer: Answer, language: str) -> Iterator[str]:
    assert answer.outcome is not None and answer.verdict is not None
    step = answer.outcome.decisive
    if step.raised and step.stage != "call":
        where = "before-call" if step.stage == "before" else "second-call"
        yield from _labelled(words("say/note", language), words(f"say/{where}", language))
    for key, value in _outcome(answer.outcome, answer.combination, language, known=headline(answer, language)):
        yield from _labelled(key, value)
    named = {name: words(f"check/{name}", language) for name, _ in answer.verdict.states}
    room = max(map(_cells, named.values()), default=0) + 2
    for number, (name, state) in enumerate(answer.verdict.states):
        head = words("say/checks", language) if number == 0 else ""
        text = named[name] + " " * (room - _cells(named[name])) + words(f"state/{state}", language)
        yield from _labelled(head, text, verbatim=True)
    advice = fix(answer, language)
    if advice is not None:
        yield from _labelled(words("say/fix", language), advice)
    command = more(answer)
    if command is not None:
        yield from _labelled(words("say/more", language), command)
    if answer.used != answer.wanted:
        told = words("say/other-version", language, wanted=answer.wanted, used=answer.used)
        yield from _labelled(words("say/note", language), told)


def _compared(answer: Answer, live: Answer, language: str) -> str:
    return words(f"say/live-{'same' if live.outcome == answer.outcome else 'other'}", language, version=live.used)


def _outcome(
    outcome: Outcome, combination: Combination, language: str, known: str | None = None
) -> Iterator[tuple[str, str]]:
    """What each call gave, raised or warned of; a text that was shown already is left out."""
    for step in outcome.steps:
        plain = "fills" if step.filled is not None else "gives"
        head = words(f"say/{'again' if step.stage == 'again' else plain}", language)
        if step.raised is not None:
            if exception(step) != known:
                yield head, exception(step)
        elif step.filled is not None:
            for name, shape in _named(step.filled, combination):
                yield head, f"{name}.grad: {_shape(shape, language)}"
                head = " "
        elif step.stage != "before":
            yield head, _shape(step.returned, language)
        for kind, text in step.warned:
            yield words("say/warns", language), f"{kind}: {text}"


def _named(filled: Any, combination: Combination) -> Iterator[tuple[str, Shape]]:
    watched = programs.program(combination).watched or "[]"
    names = [name.strip() for name in watched.strip("[]").split(",") if name.strip()]
    yield from zip(names, filled["inputs"])
    yield "w", filled["w"]


def _shape(shape: Shape, language: str) -> str:
    if isinstance(shape, dict):
        return "{" + ", ".join(f"{key!r}: {_shape(item, language)}" for key, item in shape.items()) + "}"
    if isinstance(shape, list):
        inner = "; ".join(_shape(item, language) for item in shape)
        return f"({inner},)" if len(shape) == 1 else f"({inner})"
    found = re.fullmatch(r"(\(.*?\)) (\w+)( requires_grad)?( zeros)?", str(shape))
    if found is None:
        return str(shape)
    text = words("say/tensor", language, shape=found[1], dtype=found[2])
    extra = [key for key, there in (("say/requires-grad", found[3]), ("say/zeros", found[4])) if there]
    return render.sentence(Message("words.comma"), language).join([text, *(words(key, language) for key in extra)])


def _markdown(answer: Answer, language: str, live: Answer | None) -> Iterator[str]:
    yield f"## {_titled(answer, language)}"
    yield ""
    for name, value in _chosen(answer.combination, language):
        yield f"- {name}: {value}"
    yield ""
    if answer.outcome is None:
        yield words("say/not-run", language, version=answer.wanted)
    else:
        yield f"**{headline(answer, language)}**" if not answer.outcome.decisive.raised else "```text"
        if answer.outcome.decisive.raised:
            yield headline(answer, language)
            yield "```"
        yield ""
        for key, value in _outcome(answer.outcome, answer.combination, language, headline(answer, language)):
            yield f"- {key.strip() or words('say/fills', language)}: {value}"
        assert answer.verdict is not None
        for name, state in answer.verdict.states:
            yield f"1. {words(f'check/{name}', language)}: {words(f'state/{state}', language)}"
        advice, command = fix(answer, language), more(answer)
        if advice is not None:
            yield from ("", advice)
        if command is not None:
            yield from ("", f"`{command}`")
    if live is not None:
        yield from ("", _compared(answer, live, language))
    yield from ("", "```python", answer.program.rstrip(), "```")


# -- lines of 80 columns


def _labelled(name: str, text: str, verbatim: bool = False) -> Iterator[str]:
    head = "  " + name + " " * max(_LABEL - _cells(name), 2)
    lines = [text] if verbatim else list(_wrapped(text, 2 + _LABEL))
    for number, line in enumerate(lines):
        lead = head if number == 0 else " " * (2 + _LABEL)
        if number == 0 and _cells(head) > 2 + _LABEL:
            yield head.rstrip()
            lead = " " * (2 + _LABEL)
        yield (lead + line).rstrip()


def hanging(head: str, text: str) -> Iterator[str]:
    """A text beside a head, its further lines below the first."""
    for number, line in enumerate(_wrapped(text, _cells(head) + 2)):
        yield f"{head if number == 0 else ' ' * _cells(head)}  {line}"


def _wrapped(text: str, indent: int) -> Iterator[str]:
    """Lines that fit beside an indent. Chinese may break at each character, other text at blanks, and within a word that is
    longer than a line."""
    room = _WIDTH - indent
    line = ""
    for piece in re.findall(r"[⺀-鿿＀-￯　-〿]|[^\s⺀-鿿＀-￯　-〿]+|\s+", text):
        if piece.isspace():
            line += " " if line else ""
            continue
        # No line begins with a closing mark.
        if _cells(line + piece) > room and piece not in "，。；：）？、":
            yield line.rstrip()
            line = ""
        while _cells(piece) > room:
            yield piece[:room]
            piece = piece[room:]
        line += piece
    if line.strip():
        yield line.rstrip()


def _cells(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)
