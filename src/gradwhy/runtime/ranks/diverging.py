"""Ranks that wait for each other for ever: which one did something else than the others, and the user's line there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gradwhy.catalog import render
from gradwhy.findings import (
    Argument,
    Certainty,
    Code,
    Evidence,
    Finding,
    Fix,
    Location,
    Message,
    Step,
    fingerprint,
)
from gradwhy.findings.evidence import Scalar
from gradwhy.runtime.ranks import deciding
from gradwhy.runtime.ranks.joining import spans
from gradwhy.runtime.ranks.standing import State
from gradwhy.source import text

SYMPTOM = "ranks-stuck"
CAUSE = "ranks-diverge"


@dataclass(frozen=True, slots=True)
class Apart:
    """How some ranks, ``others``, differ from the rest. ``at`` is the line to look at: from the source where not ``seen``."""

    key: str
    others: tuple[State, ...]
    rest: tuple[State, ...]
    at: Location
    facts: dict[str, Argument]
    steps: tuple[Step, ...] = ()
    seen: bool = True


def finding(states: Iterable[State], size: int, seconds: float | None = None) -> Finding | None:
    """What sets the ranks of a job of ``size`` apart, None where nothing does. ``seconds``: how long each has waited at least.

    Where not all ranks are known, only one that has ended is told of: what it did is final, whatever the others do.
    """
    known = sorted(states, key=lambda state: state.rank)
    if len(known) < 2 or not any(state.waits for state in known):
        return None
    for look in (_skipped, _shorter, _unused, _elsewhere) if len(known) == size else (_skipped, _shorter):
        apart = look(known)
        if apart is not None and (len(known) == size or all(state.doing == "ended" for state in apart.others)):
            return _told(apart, known, seconds)
    return None


# -- the ways in which ranks differ


def _skipped(states: list[State]) -> Apart | None:
    """Some went forward as often as the rest, and backward less often."""
    gaps = {state.rank: state.forwards - state.backwards - _open(state) for state in states if state.forwards}
    least, most = min(gaps.values(), default=0), max(state.backwards for state in states)
    others = [state for state in states if gaps.get(state.rank, 0) > least and state.backwards < most]
    rest = [state for state in states if gaps.get(state.rank, 1) == least and state.backwards]
    place = next((state.backward_at for state in (*others, *rest) if state.backward_at is not None), None)
    if not others or not rest or len(gaps) < len(states) or place is None:
        return None
    condition = deciding.whether(place)
    facts: dict[str, Argument] = {"missing": gaps[others[0].rank] - least, "forwards": others[0].forwards}
    steps = (Step(at=place, note=Message(f"{CAUSE}.not-run", _who(others))),)
    return Apart("skipped", tuple(others), tuple(rest), condition or place, facts, steps, seen=condition is None)


def _open(state: State) -> int:
    """1 where a rank is between a forward pass and its backward."""
    if state.doing == "forward":
        return 1
    at, forward, backward = state.at, state.forward_at, state.backward_at
    if at is None or forward is None or backward is None or state.doing != "collective":
        return 0
    same = (at.file, at.function) == (forward.file, forward.function) == (backward.file, backward.function)
    return int(same and forward.line <= at.line < backward.line)


def _shorter(states: list[State]) -> Apart | None:
    """Some made fewer passes and are out of the loop: they have ended, or wait behind it."""
    most = max(state.backwards for state in states)
    others = [state for state in states if state.backwards < most and _is_out(state)]
    # A rank that lags may still be in the pass that the others have made last.
    rest = [state for state in states if state not in others]
    place = next((state.backward_at for state in (*others, *rest) if state.backward_at is not None), None)
    if not others or place is None or any(_is_out(each) for each in rest):
        return None
    loop = deciding.loop(place)
    facts: dict[str, Argument] = {"passes": max(state.backwards for state in others), "more": most}
    return Apart("shorter", tuple(others), tuple(rest), loop or place, facts, seen=loop is None)


def _is_out(state: State) -> bool:
    if state.doing == "ended":
        return True
    loop = deciding.loop(state.backward_at) if state.backward_at is not None else None
    if loop is None or state.at is None or state.at.file != loop.file:
        return False
    return not deciding.covers(loop, state.at)


def _unused(states: list[State]) -> Apart | None:
    """The last forward pass of some left out parameters that the rest used."""
    recorded = [state for state in states if state.used]
    if len(recorded) < len(states):
        return None
    everywhere = set.intersection(*(set(state.used) for state in states))
    left = {state.rank: set(state.unused) - everywhere for state in states}
    missing = {name for names in left.values() for name in names if any(name in state.used for state in states)}
    others = [state for state in states if left[state.rank] & missing]
    rest = [state for state in states if not left[state.rank] & missing]
    if not missing or not others or not rest:
        return None
    names = sorted(missing)
    use = rest[0].used.get(names[0])
    if use is None:
        return None
    condition = deciding.whether(use)
    shown = names[0].rpartition(".")[0] or names[0]
    facts: dict[str, Argument] = {"name": Code(shown), "count": len(names)}
    steps = (Step(at=use, note=Message(f"{CAUSE}.not-run", _who(others))),)
    return Apart("unused", tuple(others), tuple(rest), condition or use, facts, steps, seen=condition is None)


def _elsewhere(states: list[State]) -> Apart | None:
    """They wait in different calls."""
    groups: dict[object, list[State]] = {}
    for state in states:
        groups.setdefault((state.at, state.op) if state.waits else state.doing, []).append(state)
    if len(groups) < 2:
        return None
    ranked = sorted(groups.values(), key=lambda group: (len(group), -group[0].rank))
    others = next((group for group in ranked if group[0].at is not None), None)
    if others is None or others[0].at is None:
        return None
    rest = [state for state in states if state not in others]
    facts: dict[str, Argument] = {"op": f"{others[0].op}()", "rest": f"{rest[0].op}()" if rest[0].waits else ""}
    if not rest[0].waits:
        return Apart("alone", tuple(others), tuple(rest), others[0].at, facts)
    return Apart("elsewhere", tuple(others), tuple(rest), others[0].at, facts)


# -- the finding


def _who(states: Iterable[State]) -> dict[str, Argument]:
    ranks = [state.rank for state in states]
    return {"ranks": spans(ranks), "number": len(ranks)}


def _told(apart: Apart, states: list[State], seconds: float | None) -> Finding:
    facts = {**apart.facts, **_who(apart.others), "of": len(states), "others": spans(s.rank for s in apart.rest)}
    waiting = next((s for s in apart.rest if s.waits and s.at), None) or next(s for s in states if s.waits)
    source = text.read(apart.at.file)
    subject = source.line(apart.at.line).strip() if source is not None else ""
    steps = [*apart.steps]
    standing = {(state.at.file, state.at.line) for state in states if state.waits and state.at is not None}
    told = {(step.at.file, step.at.line) for step in steps} | (standing if not apart.steps else set())
    if (apart.at.file, apart.at.line) not in told:
        steps.insert(0, Step(at=apart.at, note=Message(f"{CAUSE}.here-{apart.key}", facts)))
    for group in _alike(states):
        if group[0].at is not None and group[0].waits:
            said = Message(f"{CAUSE}.waits", {**_who(group), "op": f"{group[0].op}()"})
            steps.append(Step(at=group[0].at, note=said))
    certainty: Certainty = "proven" if apart.seen else "likely"
    return Finding(
        cause=CAUSE,
        symptom=SYMPTOM,
        engine="runtime",
        severity="error",
        certainty=certainty,
        subject=render.one_line(subject, 200),
        at=apart.at,
        surfaces_at=waiting.at,
        path=tuple(steps),
        message=Message(f"{CAUSE}.headline-{apart.key}", facts),
        evidence=tuple(_evidence(states, seconds)),
        fixes=(Fix(title=Message(f"{CAUSE}.advice-{apart.key}", facts), applicability="display"),),
        fingerprint=fingerprint(CAUSE, apart.at, source.line(apart.at.line) if source is not None else ""),
    )


def _alike(states: Iterable[State]) -> list[list[State]]:
    groups: dict[object, list[State]] = {}
    for state in states:
        groups.setdefault((state.at, state.op, state.doing, state.backwards, state.steps), []).append(state)
    return list(groups.values())


def _evidence(states: list[State], seconds: float | None) -> Iterable[Evidence]:
    ranks = tuple(state.rank for state in states)
    if seconds is not None:
        said = Message(f"{CAUSE}.since", {"seconds": seconds})
        yield Evidence(kind="value", subject="ranks", facts={"ranks": ranks, "of": len(ranks)}, claim=said)
    for group in _alike(states):
        first = group[0]
        facts: dict[str, Scalar] = {
            "ranks": tuple(state.rank for state in group),
            "passes": first.backwards,
            "steps": first.steps,
        }
        key = "is-ended" if first.doing == "ended" else "is-in"
        told: dict[str, Argument] = {
            **_who(group), "op": f"{first.op}()", "passes": first.backwards, "steps": first.steps
        }  # fmt: skip
        yield Evidence(kind="value", subject="ranks", facts=facts, claim=Message(f"{CAUSE}.{key}", told), at=first.at)
