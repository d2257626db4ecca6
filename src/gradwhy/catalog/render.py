"""Turns messages into sentences of a language. Values are data: they are quoted and kept to one line."""

from __future__ import annotations

import os
import re

from gradwhy.catalog import load
from gradwhy.findings import Argument, Code, Message
from gradwhy.source.snippet import printable

# {name}, or {count|parameter|parameters} for the word that goes with a count.
_PLACE = re.compile(r"\{(\w+)(?:\|([^|{}]*)\|([^|{}]*))?\}")
CODE_AT_MOST = 60
# ``contract.call/autograd.backward``: its keys have dots.
_CONTRACT = "contract."
_words = {"words": load.words, "contract": load.contract}


def sentence(message: Message, language: str = "en") -> str:
    """The message in ``language``, in English where that has no words for it, else its bare id and facts."""
    template = _template(message.id, language)
    if template is None:
        return f"{message.id} {dict(message.args)}" if message.args else message.id
    return _PLACE.sub(lambda match: _filled(match, message, language), template)


def _filled(match: re.Match[str], message: Message, language: str) -> str:
    value = message.args.get(match[1], match[0])
    if match[2] is not None:
        return match[2] if value == 1 else match[3]
    return _shown(value, language)


def _template(id: str, language: str) -> str | None:
    name, _, key = id.rpartition(".")
    if id.startswith(_CONTRACT):
        name, key = "contract", id[len(_CONTRACT) :]
    for wanted in dict.fromkeys((language, "en")):
        found = _words[name](wanted) if name in _words else getattr(load.text(name, wanted), "sentences", {})
        if key in found:
            return str(found[key])
    return None


def has_sentence(id: str, language: str = "en") -> bool:
    """Whether the catalogue has words for a message id."""
    return _template(id, language) is not None


def _shown(value: Argument, language: str) -> str:
    if isinstance(value, Code):
        return f"`{one_line(value.text)}`"
    if isinstance(value, Message):
        return sentence(value, language)
    if isinstance(value, float):
        return f"{value:.6g}"
    return one_line(str(value), 400)


def one_line(text: str, at_most: int = CODE_AT_MOST) -> str:
    """Text from a user's program on one line, without control characters, its middle left out where it is long."""
    text = printable(" ".join(text.split()))
    if len(text) <= at_most:
        return text
    head = (at_most - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (at_most - 1 - head) :]}"


def language_of(wanted: str | None) -> str:
    """``en`` or ``zh``: what was asked for, else what the locale's environment variables say."""
    if wanted:
        return wanted
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(variable, "")
        if value:
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"
