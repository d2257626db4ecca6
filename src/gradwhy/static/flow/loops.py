"""Runs loops: over all items where these are known, else for some passes until what they leave behind settles."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from gradwhy.static.flow import assignment
from gradwhy.static.flow.frames import Loop
from gradwhy.static.flow.histories import Fields, Flow, GradMode, Value, now
from gradwhy.static.flow.iterating import iterations
from gradwhy.static.flow.joining import every, join_slot
from gradwhy.static.flow.trail import MISSING, Changes
from gradwhy.static.flow.truth import truth
from gradwhy.static.flow.values import Const, Scalar, Seq, Tensor, plain

if TYPE_CHECKING:
    from gradwhy.static.flow.run import Run


def run_for(r: Run, node: ast.For | ast.AsyncFor) -> bool:
    source = plain(r.evaluate(node.iter))
    items, exact = iterations(r, source, node.iter)

    def another() -> None:
        assignment.bind(r, node.target, iterations(r, source, node.iter)[0][-1])

    mode = source.f.get("#mode") if isinstance(source, Seq) else None
    if isinstance(mode, GradMode):
        # A generator that yields inside a block leaves its mode on for the body of the loop.
        before = r.mode

        def start(item: Value) -> None:
            r.write(r.state, "mode", mode)
            assignment.bind(r, node.target, item)

        dead = _loop(r, node.body, node.orelse, [partial(start, item) for item in items], exact, another)
        r.write(r.state, "mode", before)
        return dead
    starts = [partial(assignment.bind, r, node.target, item) for item in items]
    return _loop(r, node.body, node.orelse, starts, exact, another)


def run_while(r: Run, node: ast.While) -> bool:
    known = truth(r, r.evaluate(node.test), node.test)
    if known is False:
        return r.block(node.orelse)
    endless = isinstance(node.test, ast.Constant) and bool(node.test.value)

    def again() -> None:
        r.evaluate(node.test)

    dead = _loop(r, node.body, node.orelse, [lambda: None, again], False, again)
    return dead and endless


_MOST_PASSES = 4


def _loop(
    r: Run,
    body: list[ast.stmt],
    orelse: list[ast.stmt],
    starts: Sequence[Callable[[], object]],
    exact: bool,
    another: Callable[[], object],
) -> bool:
    """Each start is one pass. A loop that is not known in full does run: for two passes, and for a few more where the second
    leaves something else behind than the first did."""
    loop = Loop(r.trail.mark, len(r.frame.withs))
    r.frame.loops.append(loop)
    r.frame.nest += 1
    alive = True
    passes: list[Changes] = []
    try:
        for start in starts:
            alive = _pass(r, loop, body, start)
            if not alive:
                break
            if not exact and not passes:
                _widen(r, loop.mark)
            passes.append(r.trail.changes(loop.mark))
        while alive and not exact and len(passes) < _MOST_PASSES and not _settled(passes[-2], passes[-1]):
            alive = _pass(r, loop, body, another)
            passes.append(r.trail.changes(loop.mark))
    finally:
        r.frame.loops.pop()
        r.frame.nest -= 1
    if not exact:
        if alive and len(passes) > 1:
            _unsettle(r, passes)
        _blur_lengths(r, loop.mark)
    if alive and orelse and not loop.breaks:
        alive = not r.block(orelse)
    outcomes = list(loop.breaks)
    if alive:
        outcomes.append(r.trail.changes(loop.mark))
    if not outcomes:
        r.trail.undo(loop.mark)
        # Every pass ends the function, or the loop has no pass at all.
        return exact or bool(r.frame.returns)
    if loop.breaks:
        r.trail.undo(loop.mark)
        r.trail.apply_joined(outcomes, loop.born)
    return False


def _pass(r: Run, loop: Loop, body: list[ast.stmt], start: Callable[[], object]) -> bool:
    """Runs the body once; False where control does not come to its end."""
    loop.start, loop.start_born = r.trail.mark, now()
    loop.continues = []
    start()
    dead = r.block(body)
    outcomes = list(loop.continues)
    if not outcomes:
        return not dead
    if not dead:
        outcomes.append(r.trail.changes(loop.start))
    r.trail.undo(loop.start)
    r.trail.apply_joined(outcomes, loop.start_born)
    return True


def _settled(before: Changes, after: Changes) -> bool:
    return all(
        key in before and _kind(before[key][2]) == _kind(change[2])
        for key, change in after.items()
        if _lasts(change[2])
    )


def _lasts(value: Any) -> bool:
    return isinstance(value, (Tensor, Flow, GradMode, Const))


def _unsettle(r: Run, passes: list[Changes]) -> None:
    """What differs from pass to pass may be any of it after a number of them that isn't known."""
    for key, (fields, name, last) in passes[-1].items():
        values = [last, *(seen[key][2] for seen in passes[:-1] if key in seen)]
        if MISSING not in values and len({_kind(value) for value in values}) > 1:
            r.write(fields, name, join_slot(values))


def _kind(value: Any) -> object:
    value = plain(value) if isinstance(value, Value) else value
    if isinstance(value, Tensor):
        return value.flow.grad
    if isinstance(value, Flow):
        return value.grad
    if isinstance(value, GradMode):
        return value.on
    return (
        (Const, value.value)
        if isinstance(value, Const) and isinstance(value.value, (bool, type(None)))
        else type(value)
    )


def _widen(r: Run, mark: int) -> None:
    """Numbers and texts that a pass has changed are different in each pass."""
    before: dict[tuple[int, Any], Any] = {}
    for fields, key, old in r.trail.log[mark:]:
        before.setdefault((id(fields), key), (fields, key, old))
    for fields, key, old in before.values():
        now = fields.get(key, MISSING)
        if isinstance(now, Const) and isinstance(old, Const) and not isinstance(now.value, (bool, type(None))):
            if now.value != old.value:
                r.write(fields, key, Scalar())


def _blur_lengths(r: Run, mark: int) -> None:
    """A list that has grown in a loop of unknown length has any number of such items."""
    before: dict[int, tuple[Fields, tuple[Value, ...]]] = {}
    for fields, key, old in r.trail.log[mark:]:
        if key == "items" and isinstance(old, tuple):
            before.setdefault(id(fields), (fields, old))
    for fields, old in before.values():
        now = fields.get("items")
        if isinstance(now, tuple) and len(now) > len(old) and now[: len(old)] == old:
            rest = fields.get("rest")
            r.write(fields, "rest", every([*now[len(old) :], *([rest] if isinstance(rest, Value) else [])]))
            r.write(fields, "items", old)
