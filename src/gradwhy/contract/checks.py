"""Which of torch's checks decided an outcome, what that says of the others, and what to change."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from gradwhy.contract import axes
from gradwhy.contract.axes import Combination
from gradwhy.contract.outcomes import Outcome, Shape, Step

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]

State: TypeAlias = Literal["passed", "failed", "later", "unasked", "allowed"]
Silence: TypeAlias = Literal["unfilled", "none-returned", "zeros-returned"]


@dataclass(frozen=True, slots=True)
class Check:
    """One of the things that torch looks at."""

    name: str
    patterns: tuple[re.Pattern[str], ...]
    main: bool
    raw: Mapping[str, Any]

    def says(self, text: str) -> bool:
        """Whether a message is this check's."""
        return any(pattern.search(text) for pattern in self.patterns)

    def symptom(self, text: str) -> str | None:
        """The entry of the catalogue that explains the message."""
        several: Mapping[str, str] = self.raw.get("symptoms", {})
        found: str | None = next((entry for part, entry in several.items() if part in text), self.raw.get("symptom"))
        return found


@dataclass(frozen=True, slots=True)
class Verdict:
    """What decided an outcome."""

    decided: str | None
    """The name of the check that raised, or None."""
    silence: Silence | None
    """What is missing although nothing was raised."""
    states: tuple[tuple[str, State], ...]
    """The three main checks, and the one that decided where it is another, in torch's order. torch.func.grad has no main ones."""
    cause: str | None
    symptom: str | None
    fix: str | None
    """The name of the sentence that says what to change, ``<axis>/<value>/<check>``."""


@cache
def checks() -> tuple[Check, ...]:
    """All checks, in torch's order."""
    data = tomllib.loads((Path(__file__).parent / "checks.toml").read_text("utf-8"))
    return tuple(
        Check(raw["name"], tuple(map(re.compile, raw["patterns"])), raw.get("main", False), raw)
        for raw in data["check"]
    )


def order(call: str, torch: str) -> tuple[Check, ...]:
    """The checks in the order of a call in a version of torch."""
    found = [check for check in checks() if bool(check.raw.get("functional")) == (call == axes.FUNCTIONAL)]
    for check in tuple(found):
        since = check.raw.get("since")
        if since is not None and call == "grad" and _numbers(torch) < _numbers(since):
            found.remove(check)
            names = [each.name for each in found]
            found.insert(names.index(check.raw["formerly_after"]) + 1, check)
    return tuple(found)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def judge(combination: Combination, outcome: Outcome, torch: str) -> Verdict:
    """Say what decided. Of two calls, the first that raised counts, else the first."""
    step = outcome.decisive
    functional = combination["call"] == axes.FUNCTIONAL
    if step.raised is None:
        silence = _silence(combination, step)
        states = () if functional else _silent_states(combination, silence)
        keys = {
            "unfilled": ("unfilled", "requires-grad", "reached"),
            "none-returned": ("reached",),
            "zeros-returned": ("zeros", "reached"),
        }
        cause, fix = _blame(combination, keys[silence]) if silence else (None, None)
        return Verdict(None, silence, states, cause, "input-unused" if silence == "none-returned" else None, fix)
    text = step.raised[1]
    ordered = order(combination["call"], torch)
    decided = next((check for check in ordered if check.says(text)), None)
    if decided is None:
        return Verdict(None, None, (), None, None, None)
    cause, fix = _blame(combination, (decided.name,))
    states = _states(combination, ordered, decided)
    return Verdict(decided.name, None, states, cause, "functorch" if functional else decided.symptom(text), fix)


def _states(combination: Combination, ordered: tuple[Check, ...], decided: Check) -> tuple[tuple[str, State], ...]:
    states: list[tuple[str, State]] = []
    state: State = "passed"
    for check in ordered:
        if check is decided:
            states.append((check.name, "failed"))
            state = "later"
        elif check.main:
            states.append((check.name, state if _asks(combination["call"], check.name) else "unasked"))
    return tuple(states)


def _silent_states(combination: Combination, silence: Silence | None) -> tuple[tuple[str, State], ...]:
    states: list[tuple[str, State]] = []
    for check in checks():
        if not check.main:
            continue
        asked = _asks(combination["call"], check.name)
        allowed = check.name == "reached" and silence is not None
        states.append((check.name, "unasked" if not asked else "allowed" if allowed else "passed"))
    return tuple(states)


def _asks(call: str, check: str) -> bool:
    """Whether a call has a check at all: ``backward`` asks of no input, and none but ``grad`` whether it was reached."""
    if check == "has-graph":
        return True
    return call == "grad" or (check == "requires-grad" and call.endswith("-inputs"))


def _silence(combination: Combination, step: Step) -> Silence | None:
    if step.filled is not None:
        asked = axes.axes()["input"].values[combination["input"]].get("ask", "x")
        inputs = step.filled["inputs"]
        # The tensors after the first are kin of it, but in a list.
        return "unfilled" if "None" in (inputs if asked.startswith("[") else inputs[:1]) else None
    given = list(_leaves(step.returned))
    if "None" in given:
        return "none-returned"
    return "zeros-returned" if any(each.endswith(" zeros") for each in given) else None


def _leaves(shape: Shape) -> list[str]:
    if isinstance(shape, dict):
        return [leaf for item in shape.values() for leaf in _leaves(item)]
    if isinstance(shape, list):
        return [leaf for item in shape for leaf in _leaves(item)]
    return [str(shape)]


def _blame(combination: Combination, keys: tuple[str, ...]) -> tuple[str | None, str | None]:
    """The cause and the fix of the first value that can fail one of the checks."""
    for key in keys:
        # How the output was made comes first: where it has no graph, no input can be reached.
        for name in sorted(axes.of_call(combination["call"]), key=lambda name: name != "graph"):
            causes = axes.axes()[name].values[combination[name]].get("causes", {})
            if key in causes:
                return causes[key] or None, f"{name}/{combination[name]}/{key}"
    return None, None
