"""Clears the gradients of the optimizer before the backward pass of its step."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Edit, Fix, Message
from gradwhy.source.slicing import dotted_name
from gradwhy.static import lines
from gradwhy.static.remedy import Fault, Spot
from gradwhy.static.rewrites import whole_lines_out
from gradwhy.static.uncalled import called_now


def remedies(fault: Fault) -> Iterable[Fix]:
    """``zero_grad()`` before the first pass of the step; after the step where passes are gathered for it."""
    if fault.headline == "headline-closure":
        yield from _in_closure(fault)
        return
    if fault.headline == "headline-uncalled":
        yield from called_now(fault)
        return
    at = fault.spot("stepped") or _next_step(fault)
    statement = at.source.statement(at.node) if at is not None else None
    found = lines.steps(statement) if statement is not None else []
    if at is None or statement is None or len(found) != 1 or not isinstance(statement, ast.Expr):
        return
    name = found[0][1]
    block = at.source.block(statement)
    if not block:
        return
    first = _first_pass(block, statement, _through(fault, at))
    if first is not None:
        between = block[block.index(first) : block.index(statement)]
        if not lines.rebinds(between, name):
            yield from _cleared_before(at, block, first, name)
    elif _gathers(at, statement) and not lines.reads_gradients(block[block.index(statement) + 1 :]):
        yield from _fix(name, lines.put_after(at, statement, f"{name}.zero_grad()"), key="fix-after")


def _through(fault: Fault, at: Spot) -> frozenset[str]:
    """The function that goes backward for the step, where that is another one."""
    function = fault.source.function(fault.node)
    name = getattr(function, "name", "")
    return frozenset({name}) if name and function is not at.source.function(at.node) else frozenset()


def _next_step(fault: Fault) -> Spot | None:
    """The step that follows the pass in its block."""
    statement = fault.source.statement(fault.node)
    block = fault.source.block(statement) if statement is not None else []
    for later in block[block.index(statement) + 1 :] if statement in block else []:
        if lines.steps(later):
            return Spot(fault.file, fault.source, later)
        if lines.goes_backward(later):
            return None
    return None


def _first_pass(block: list[ast.stmt], step: ast.stmt, through: frozenset[str]) -> ast.stmt | None:
    """The first of the passes before a step, back to the step before it."""
    first = None
    for statement in reversed(block[: block.index(step)]):
        if lines.steps(statement):
            # Several optimizers may step for one pass.
            if first is not None:
                break
            continue
        if lines.goes_backward(statement, through):
            first = statement
    return first


def _gathers(at: Spot, step: ast.stmt) -> bool:
    """Whether the step is made once in several passes: under ``if (i + 1) % n == 0``."""
    outer = at.source.parents.get(step)
    if not isinstance(outer, ast.If) or step not in outer.body:
        # A step in a function of its own.
        return isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef))
    return any(isinstance(inner, ast.Mod) for inner in ast.walk(outer.test))


def _cleared_before(at: Spot, block: list[ast.stmt], first: ast.stmt, name: str) -> Iterable[Fix]:
    later = next((s for s in block[block.index(first) :] if _clears(s, name)), None)
    put = lines.put_before(at, first, f"{name}.zero_grad()")
    if later is not None and put is not None and later.end_lineno == later.lineno and lines.alone(at.source, later):
        # It's there already, where it comes too early for the gradients of another loss.
        yield from _fix(name, put, whole_lines_out(at, later.lineno, later.lineno))
    else:
        yield from _fix(name, put)


def _clears(statement: ast.stmt, name: str) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "zero_grad"
        and dotted_name(call.func.value) == name
    )


def _in_closure(fault: Fault) -> Iterable[Fix]:
    """At the pass of the closure: the optimizer is the one whose ``step`` is given it."""
    source = fault.source
    function = source.function(fault.node)
    statement = source.statement(fault.node)
    if not isinstance(function, ast.FunctionDef) or source.tree is None or statement is None:
        return
    names = {
        dotted_name(call.func.value)
        for call in ast.walk(source.tree)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "step"
        and any(isinstance(given, ast.Name) and given.id == function.name for given in _given(call))
        and source.function(call) is source.function(function)
    }
    if len(names) == 1 and (name := names.pop()):
        yield from _fix(name, lines.put_before(fault, statement, f"{name}.zero_grad()"))


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _fix(name: str, *edits: Edit | None, key: str = "fix") -> Iterable[Fix]:
    made = tuple(edit for edit in edits if edit is not None)
    if made and len(made) == len(edits):
        title = Message(f"missing-zero_grad.{key}", {"result": Code(f"{name}.zero_grad()")})
        yield Fix(title=title, applicability="unsafe", edits=made)
