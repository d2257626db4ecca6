"""``'float' object has no attribute 'backward'``: the loss is a number or an array, and where it left torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gradwhy.findings import Code, Evidence, Finding, Message, Step
from gradwhy.runtime import account, remedying
from gradwhy.runtime.account import Place
from gradwhy.runtime.explanation import Explanation, Loss
from gradwhy.runtime.failure import Failure, LiveFrame
from gradwhy.runtime.origins import departures
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.sites import Site, located
from gradwhy.runtime.telling import tell
from gradwhy.source.slicing import dotted_name, values_behind
from gradwhy.source.text import SourceText

SYMPTOM = "no-backward"
CAUSE = "number-loss"


def matches(failure: Failure) -> bool:
    error = failure.error
    if not isinstance(error, AttributeError) or not _is_number(error.obj):
        return False
    # A trainer that was given a number may want something else of it first.
    return error.name == "backward" or (error.name == "detach" and _is_a_hosts(failure) and type(error.obj) is float)


def _is_a_hosts(failure: Failure) -> bool:
    """Whether a package failed that was given the loss, and not the user's own line."""
    return bool(failure.frames) and not failure.frames[-1].is_users


def _is_number(value: Any) -> bool:
    """A number of Python's or NumPy's, or an array."""
    return type(value) in (int, float, bool, complex) or type(value).__module__ == "numpy"


def diagnose(situation: Situation) -> list[Finding]:
    """Where a value with a path became a number; else where the number that no tensor was added to is written."""
    surface = situation.failure.surface
    starts = list(_starts(situation))
    if surface is None or not starts:
        return []
    hosts = _is_a_hosts(situation.failure)
    loss = Loss("" if hosts else account.receiver(surface.site), surface, None, (), frozenset())
    loss = replace(loss, name=loss.name or "the loss")
    left = list(departures.behind_lines(starts, loss, situation))
    if hosts and not left:
        # The user's line is the call of a trainer: only the number itself can tell where it came from.
        left = list(_same_number(loss, situation))
        if not left:
            return []
    if left:
        best = _proven(left, situation) or left[0]
        fixes = remedying.fixes(best, situation)
        return [tell(best, [each for each in left if each is not best], [], fixes, loss, situation, SYMPTOM)]
    return [_plain(starts, loss, situation)]


def _starts(situation: Situation) -> Iterator[tuple[Site, ast.AST]]:
    """The failing expression, what an attribute that it reads was set to, and what callers gave for it."""
    surface = situation.failure.surface
    node = surface.site.node() if surface is not None else None
    if surface is None or node is None:
        return
    yield surface.site, node
    name = account.receiver(surface.site)
    source = surface.site.source
    for each in ast.walk(source.tree) if "." in name and source is not None and source.tree is not None else ():
        if isinstance(each, (ast.Assign, ast.AugAssign)) and name in {dotted_name(t) for t in _targets(each)}:
            yield surface.site, each.value
    frame: LiveFrame
    for frame, given in account.arguments(name, situation):
        yield frame.site, given


def _targets(node: ast.Assign | ast.AugAssign) -> list[ast.expr]:
    return [node.target] if isinstance(node, ast.AugAssign) else node.targets


def _proven(left: list[Explanation], situation: Situation) -> Explanation | None:
    """The departure that gave just this number: the same value is as good as a name."""
    value = situation.failure.error.obj if isinstance(situation.failure.error, AttributeError) else None
    known = situation.watch.recorder.departures.numbers
    record = known.get(float(value)) if isinstance(value, float) else None
    for each in left if record is not None else ():
        if each.cut is not None and each.cut.record is record:
            each.certain = True
            return each
    return None


def _same_number(loss: Loss, situation: Situation) -> Iterator[Explanation]:
    """The departure that gave just the number that the trainer was given."""
    value = situation.failure.error.obj if isinstance(situation.failure.error, AttributeError) else None
    known = situation.watch.recorder.departures.numbers
    record = known.get(value) if isinstance(value, float) else None
    if record is not None:
        yield from departures.explanations([record], loss, distance=0)


def _plain(starts: list[tuple[Site, ast.AST]], loss: Loss, situation: Situation) -> Finding:
    """The number that the loss began as, or that a function gave back, where no tensor reached it."""
    value = situation.failure.error.obj if isinstance(situation.failure.error, AttributeError) else None
    found = [(source, node) for site, start in starts if (source := site.source) is not None
             for node in _numbers(source, start, value)]  # fmt: skip
    key = "" if found else "unknown"
    if found:
        source, node = found[0]
        place = Place(located(source, node), source.segment(node))
    else:
        place = account.binding(loss.name, situation) or Place.of(loss.surface.site)
    facts = {"loss": Code(loss.name), "type": Code(type(value).__name__)}
    suffix = f"-{key}" if key else ""
    return account.finding(
        situation,
        SYMPTOM,
        CAUSE,
        place.at,
        place.text,
        facts=facts,
        headline=f"headline{suffix}",
        advice=f"advice{suffix}",
        steps=[Step(at=place.at, note=Message(f"{CAUSE}.made{suffix}", facts))],
        evidence=[Evidence(kind="value", subject=loss.name, facts={"type": type(value).__name__})],
        # With the record on, a value that had left torch on these lines would have been seen.
        certain=len(found) == 1 and situation.watch.was_recording and not situation.watch.recorder.departures.kept,
    )


def _numbers(source: SourceText, start: ast.AST, value: Any) -> Iterator[ast.AST]:
    """Written numbers equal to the loss that are a whole value, and calls of ``sum``, which begins at 0."""
    for node in values_behind(source, start):
        for part in (node.body, node.orelse) if isinstance(node, ast.IfExp) else (node,):
            if _is_this_number(part, value) or (_is_sum(part) and type(value) is int and value == 0):
                yield part


def _is_this_number(node: ast.AST, value: Any) -> bool:
    return (
        isinstance(node, ast.Constant) and type(node.value) in (int, float) and type(value) in (int, float)
        and node.value == value
    )  # fmt: skip


def _is_sum(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and dotted_name(node.func) == "sum"
