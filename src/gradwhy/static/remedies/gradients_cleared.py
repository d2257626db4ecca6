"""Clears the gradients once for each step: before its first backward pass, or after it."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Edit, Fix, Message
from gradwhy.source.slicing import called, dotted_name
from gradwhy.static import lines
from gradwhy.static.remedy import Fault
from gradwhy.static.rewrites import whole_lines_out


def remedies(fault: Fault) -> Iterable[Fix]:
    """The clearing, or the step that comes too early, moves."""
    source = fault.source
    here = source.statement(fault.node)
    if here is None or not isinstance(here, ast.Expr):
        return
    if fault.headline == "headline-step-early":
        yield from _step_later(fault, here)
    elif fault.headline == "headline-within" or _surfaces_at_pass(fault):
        yield from _once_a_step(fault, here)
    elif fault.headline in ("headline", "headline-audit"):
        yield from _before_the_pass(fault, here)


def _surfaces_at_pass(fault: Fault) -> bool:
    shown = fault.spot("surfaces")
    return fault.headline == "headline" and shown is not None and lines.goes_backward(shown.node)


def _before_the_pass(fault: Fault, clear: ast.Expr) -> Iterable[Fix]:
    """``loss.backward(); zero_grad(); step()``: the clearing goes up, or below the step that the pass is not beside."""
    whole = _loop_around(fault, clear)
    block = fault.source.block(whole)
    if _clearer(clear) == "":
        return
    passes: list[ast.stmt] = []
    for before in reversed(block[: block.index(whole)] if block else []):
        if lines.steps(before):
            break
        passes += [before] if lines.goes_backward(before) else []
    if passes and isinstance(whole, ast.Expr):
        yield from _fix("fix-before", fault, clear, lines.move(fault, whole, passes[-1]))
        return
    if passes or not block:
        return
    step = next((s for s in block[block.index(whole) + 1 :] if lines.steps(s)), None)
    if isinstance(step, ast.Expr) and any(map(lines.goes_backward, block[block.index(step) + 1 :])):
        # The pass comes after both: it's the step that is early.
        yield from _step_later(fault, step)
    elif step is not None and isinstance(whole, ast.Expr):
        yield from _fix("fix-after", fault, clear, lines.move(fault, whole, step, after=True))


def _loop_around(fault: Fault, clear: ast.stmt) -> ast.stmt:
    """The loop that does nothing else than clear."""
    outer = fault.source.parents.get(clear)
    return outer if isinstance(outer, ast.For) and len(outer.body) == 1 and not outer.orelse else clear


def _step_later(fault: Fault, step: ast.Expr) -> Iterable[Fix]:
    block = fault.source.block(step)
    rest = block[block.index(step) + 1 :] if block else []
    last = next((s for s in rest if lines.goes_backward(s)), None)
    if last is None or any(lines.steps(s) for s in rest[: rest.index(last)]):
        return
    clips = [s for s in rest[rest.index(last) + 1 :] if "clip" in fault.source.segment(s) and isinstance(s, ast.Expr)]
    edits = lines.move(fault, step, clips[-1] if clips else last, after=True)
    yield from _fix("fix-step", fault, step, edits)


def _once_a_step(fault: Fault, clear: ast.Expr) -> Iterable[Fix]:
    """Several passes of a loop for one step: the clearing goes below the step in the loop, else before the loop."""
    source, name = fault.source, _clearer(clear)
    loop = next((n for n in source.enclosing(clear) if isinstance(n, (ast.For, ast.While))), None)
    function = source.function(clear)
    if not name or loop is None or source.function(loop) is not function or not lines.goes_backward(loop):
        return
    inside = lines.steps(loop)
    text = source.segment(clear)
    if inside:
        at = source.statement(inside[0][0])
        block = source.block(at) if at is not None else []
        if len(inside) == 1 and at is not None and name == inside[0][1] and clear not in block:
            edit = lines.put_after(fault, at, text) if isinstance(at, ast.Expr) else None
            yield from _fix("fix-after", fault, clear, _taken(fault, clear, edit))
        return
    if any(_steps_in(fault, call) for call in lines.calls(loop)) or clear not in loop.body:
        return
    around = source.block(loop)
    after = [s for s in around[around.index(loop) + 1 :] if lines.steps(s)] if around else []
    outer = [n for n in source.enclosing(loop) if isinstance(n, (ast.For, ast.While))]
    if after or (function is not None and not outer and not lines.steps(function)):
        yield from _fix("fix-loop", fault, clear, _taken(fault, clear, lines.put_before(fault, loop, text)))


def _taken(fault: Fault, clear: ast.Expr, put: Edit | None) -> tuple[Edit, ...]:
    source = fault.source
    fits = clear.lineno == clear.end_lineno and lines.alone(source, clear) and len(source.block(clear)) > 1
    return (put, whole_lines_out(fault, clear.lineno, clear.lineno)) if put is not None and fits else ()


def _steps_in(fault: Fault, call: ast.Call) -> bool:
    """Whether a call runs a function of this file that steps."""
    assert fault.source.tree is not None
    return any(
        isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) and n.name == called(call) and lines.steps(n)
        for n in ast.walk(fault.source.tree)
    )


def _clearer(clear: ast.Expr) -> str:
    """``optimizer`` of ``optimizer.zero_grad()``."""
    call = clear.value
    if called(call) != "zero_grad" or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return ""
    return dotted_name(call.func.value)


def _fix(key: str, fault: Fault, what: ast.stmt, edits: tuple[Edit, ...]) -> Iterable[Fix]:
    if edits:
        title = Message(f"gradients-cleared.{key}", {"subject": Code(fault.source.segment(what))})
        yield Fix(title=title, applicability="unsafe", edits=edits)
