"""The axes of a call for gradients, read from axes.toml, and the combinations that the table holds."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]

FUNCTIONAL = "func.grad"
_OF_TENSORS = ("input", "graph", "output")
_OF_FUNCTIONS = ("body", "arg", "argnums", "has-aux")


@dataclass(frozen=True, slots=True)
class Axis:
    """One question: its name, as the option is called, the values that it takes, and the one that is taken unasked."""

    name: str
    default: str
    values: Mapping[str, Mapping[str, Any]]
    keyword: str
    """The keyword argument of the call that it sets, or nothing."""
    asked: bool
    """Whether it is one of the questions; the others are options alone."""


@dataclass(frozen=True, slots=True)
class Combination:
    """One value for each axis that the call has, in the order of the axes. Those that stay at their default are left out
    but for ``call``."""

    values: tuple[tuple[str, str], ...]

    def __getitem__(self, axis: str) -> str:
        for name, value in self.values:
            if name == axis:
                return value
        return axes()[axis].default

    def __str__(self) -> str:
        """``call=grad input=plain``: what the table is searched by."""
        return " ".join(f"{name}={value}" for name, value in self.values)


class NotValid(ValueError):
    """A value that an axis does not have, or an axis that the call does not have. ``args`` are the axis and the value."""


@cache
def _data() -> Mapping[str, Any]:
    data: Mapping[str, Any] = tomllib.loads((Path(__file__).parent / "axes.toml").read_text("utf-8"))
    return data


def scene() -> Mapping[str, Any]:
    """The lines that all programs share."""
    scene: Mapping[str, Any] = _data()["scene"]
    return scene


@cache
def axes() -> Mapping[str, Axis]:
    """The axes by name, in the order in which they are asked."""
    return {
        name: Axis(
            name,
            raw.get("default", next(iter(raw["values"]))),
            raw["values"],
            raw.get("keyword", ""),
            raw.get("asked", False),
        )
        for name, raw in _data()["axis"].items()
    }


def of_call(call: str) -> tuple[str, ...]:
    """The names of the axes that a call has, without ``call``. ``backward`` has ``allow-unused`` because people pass it."""
    if call == FUNCTIONAL:
        return (*_OF_FUNCTIONS, "mode")
    shared = ("create-graph", "retain-graph", "mode", "again")
    if call == "grad":
        return (*_OF_TENSORS, "allow-unused", "materialize-grads", "is-grads-batched", *shared)
    return (*_OF_TENSORS, *(("allow-unused",) if call == "backward" else ()), *shared)


def combination(chosen: Mapping[str, str]) -> Combination:
    """The combination with these values, the rest at their defaults.

    Raises NotValid where a value or an axis is not the call's."""
    call = chosen.get("call", axes()["call"].default)
    allowed = ("call", *of_call(call))
    for name, value in chosen.items():
        axis = axes().get(name)
        if axis is None or value not in axis.values or (name not in allowed and value != axis.default):
            raise NotValid(name, value)
    kept = [("call", call)]
    for name, axis in axes().items():
        value = chosen.get(name, axis.default)
        if name in allowed and name != "call" and value != axis.default:
            kept.append((name, value))
    return Combination(tuple(kept))


def parse(text: str) -> Combination:
    """The combination of its text, the inverse of ``str``. Values may have blanks: ``argnums=(0, 1)``."""
    chosen: dict[str, str] = {}
    name = ""
    for word in text.split(" "):
        head, equals, value = word.partition("=")
        if equals and head in axes():
            name, chosen[head] = head, value
        else:
            chosen[name] += f" {word}"
    return combination(chosen)


@cache
def table() -> tuple[Combination, ...]:
    """All combinations of all blocks, each once, in the order of the file."""
    return tuple(dict.fromkeys(each for block in _data()["block"] for each in _of_block(block)))


def classic() -> Mapping[str, list[str]]:
    """The axes and values of the 48 combinations that are shown as one table."""
    found: Mapping[str, list[str]] = _data()["classic"]
    return found


def _of_block(block: Mapping[str, Any]) -> Iterator[Combination]:
    groups: Mapping[str, list[str]] = _data()["groups"]
    order = [name for name in axes() if name in block]
    choices = [groups[given[1:]] if isinstance(given := block[name], str) else given for name in order]
    defaults = [axes()[name].default for name in order]
    for values in itertools.product(*choices):
        # As in ``combination``, without its questions: several thousand of these are made at each start.
        yield Combination(
            tuple((n, v) for n, v, default in zip(order, values, defaults) if v != default or n == "call")
        )
