"""Runs statements: branches are joined, loops run twice, what ends a path ends it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradwhy.static.flow import assignment, definitions, functions, imports, loops
from gradwhy.static.flow.histories import Fields, GradMode, Value, now
from gradwhy.static.flow.trail import MISSING, Changes
from gradwhy.static.flow.truth import narrowed, truth
from gradwhy.static.flow.values import NONE, Instance, Unknown, plain

if TYPE_CHECKING:
    from gradwhy.static.flow.run import Run


def run(r: Run, node: ast.stmt) -> bool:
    """Whether control does not come out of the statement."""
    r.current = node
    handler = _HANDLERS.get(type(node))
    return bool(handler(r, node)) if handler is not None else False


def _expr(r: Run, node: ast.Expr) -> None:
    if not isinstance(node.value, ast.Constant):
        r.evaluate(node.value)


def _return(r: Run, node: ast.Return) -> bool:
    value = r.evaluate(node.value) if node.value is not None else NONE
    if not r.frame.nest and not r.frame.withs:
        r.frame.returns.append((None, value))
    else:
        leave(r, 0, lambda changes: r.frame.returns.append((changes, value)), r.frame.mark)
    return True


def leave(r: Run, withs: int, keep: Callable[[Changes], None], mark: int) -> None:
    """Takes down the state at a jump, with the grad mode as it is outside of the blocks that the jump leaves."""
    inside = r.frame.withs[withs:]
    if inside and inside[0] is not r.mode:
        now = r.mode
        r.write(r.state, "mode", inside[0])
        keep(r.trail.changes(mark))
        r.write(r.state, "mode", now)
    else:
        keep(r.trail.changes(mark))


def _break(r: Run, node: ast.Break) -> bool:
    if r.frame.loops:
        loop = r.frame.loops[-1]
        leave(r, loop.withs, loop.breaks.append, loop.mark)
    return True


def _continue(r: Run, node: ast.Continue) -> bool:
    if r.frame.loops:
        loop = r.frame.loops[-1]
        leave(r, loop.withs, loop.continues.append, loop.start)
    return True


def _raise(r: Run, node: ast.Raise) -> bool:
    return True


def _if(r: Run, node: ast.If) -> bool:
    known = truth(r, r.evaluate(node.test), node.test)
    if known is not None:
        return r.block(node.body if known else node.orelse)
    return branches(
        r,
        [
            lambda: narrowed(r, node.test, True) or r.block(node.body),
            lambda: narrowed(r, node.test, False) or r.block(node.orelse),
        ],
    )


def branches(r: Run, ways: list[Callable[[], bool]]) -> bool:
    """Runs alternatives from the same state and joins what comes out of them."""
    mark, born = r.trail.mark, now()
    outcomes: list[Changes] = []
    r.frame.nest += 1
    for way in ways:
        dead = way()
        changes = r.trail.take(mark)
        if not dead:
            outcomes.append(changes)
    r.frame.nest -= 1
    if not outcomes:
        return True
    r.trail.apply_joined(outcomes, born)
    return False


def _with(r: Run, node: ast.With | ast.AsyncWith) -> bool:
    return _items(r, list(node.items), node)


def _items(r: Run, items: list[ast.withitem], node: ast.With | ast.AsyncWith) -> bool:
    if not items:
        return r.block(node.body)
    item, rest = items[0], items[1:]
    context = plain(r.evaluate(item.context_expr))
    if isinstance(context, GradMode):
        if context.before != "kept":
            # The call has switched already; the block puts back what was before it.
            r.write(r.state, "mode", context.before)
        with r.switched(GradMode(context.on, context.cause, item.context_expr, r.frame)):
            return _items(r, rest, node)
    if isinstance(context, Instance) and context.cls.find("__enter__") is not None:
        entered = functions.call_method(r, context, "__enter__", [], {}, item.context_expr)
        if item.optional_vars is not None:
            assignment.bind(r, item.optional_vars, entered)
        dead = _items(r, rest, node)
        if not dead:
            functions.call_method(r, context, "__exit__", [NONE, NONE, NONE], {}, item.context_expr)
        return dead
    if isinstance(context, functions.Pending):
        return _managed(r, context, item, rest, node)
    if item.optional_vars is not None:
        assignment.bind(r, item.optional_vars, context if isinstance(context, Instance) else Unknown())
    if isinstance(context, Unknown) and _may_switch(r, item.context_expr):
        with r.switched(GradMode(None, "no_grad-context", item.context_expr, r.frame)):
            return _items(r, rest, node)
    return _items(r, rest, node)


def _may_switch(r: Run, node: ast.expr) -> bool:
    """A context that the file does not show may switch recording, unless its name is known for something else."""
    source = here.source if (here := r.here) is not None else r.source
    name = source.segment(node).partition("(")[0].rpartition(".")[2]
    known = {"open", "autocast", "tqdm", "device", "Timer", "suppress", "TemporaryDirectory", "catch_warnings", "profile",
             "record_function", "nullcontext", "redirect_stdout", "Pool", "ThreadPoolExecutor", "ProcessPoolExecutor",
             "no_sync", "errstate", "SummaryWriter", "accumulate"}  # fmt: skip
    return name not in known


def _managed(
    r: Run, pending: functions.Pending, item: ast.withitem, rest: list[ast.withitem], node: ast.With | ast.AsyncWith
) -> bool:
    """A generator that is a context manager: the block runs where it yields."""
    outer = r.frame
    died: list[bool] = []

    def inside(value: Value) -> None:
        manager, r.frame = r.frame, outer
        try:
            if item.optional_vars is not None:
                assignment.bind(r, item.optional_vars, value)
            if not died:
                outer.withs.append(pending.mode)
                died.append(_items(r, rest, node))
                outer.withs.pop()
        finally:
            r.frame = manager

    pending.run(r, inside)
    return bool(died) and died[0]


def _try(r: Run, node: ast.Try) -> bool:
    def normal() -> bool:
        return r.block(node.body) or r.block(node.orelse)

    def handled(handler: ast.ExceptHandler) -> Callable[[], bool]:
        def way() -> bool:
            if handler.name:
                r.write(r.frame.env, handler.name, Unknown())
            return r.block(handler.body)

        return way

    dead = branches(r, [normal, *(handled(handler) for handler in node.handlers)])
    return r.block(node.finalbody) or dead


def _match(r: Run, node: ast.Match) -> bool:
    r.evaluate(node.subject)

    def way(case: ast.match_case) -> Callable[[], bool]:
        def one() -> bool:
            for part in ast.walk(case.pattern):
                for name in (getattr(part, "name", None), getattr(part, "rest", None)):
                    if isinstance(name, str):
                        r.write(r.frame.env, name, Unknown())
            return r.block(case.body)

        return one

    return branches(r, [*(way(case) for case in node.cases), lambda: False])


def _def(r: Run, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    r.write(r.frame.env, node.name, definitions.define(r, node))


def _class(r: Run, node: ast.ClassDef) -> None:
    r.write(r.frame.env, node.name, definitions.define_class(r, node))


def _delete(r: Run, node: ast.Delete) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            r.write(r.frame.env, target.id, MISSING)
        elif isinstance(target, ast.Attribute):
            owner = plain(r.evaluate(target.value))
            fields: Fields | None = getattr(owner, "f", None)
            if fields is not None:
                r.write(fields, target.attr, MISSING)


def _global(r: Run, node: ast.Global) -> None:
    for name in node.names:
        r.frame.globals_[name] = r.frame.scopes[-1]


def _nonlocal(r: Run, node: ast.Nonlocal) -> None:
    for name in node.names:
        scope = next((s for s in r.frame.scopes[1:] if name in s), None)
        if scope is not None:
            r.frame.globals_[name] = scope


def _assert(r: Run, node: ast.Assert) -> None:
    r.evaluate(node.test)


_HANDLERS: dict[type[ast.AST], Callable[[Run, Any], bool | None]] = {
    ast.Expr: _expr,
    ast.Assign: assignment.assign,
    ast.AugAssign: assignment.augmented,
    ast.AnnAssign: assignment.annotated,
    ast.Return: _return,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Raise: _raise,
    ast.If: _if,
    ast.For: loops.run_for,
    ast.AsyncFor: loops.run_for,
    ast.While: loops.run_while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.Match: _match,
    ast.FunctionDef: _def,
    ast.AsyncFunctionDef: _def,
    ast.ClassDef: _class,
    ast.Delete: _delete,
    ast.Global: _global,
    ast.Nonlocal: _nonlocal,
    ast.Assert: _assert,
    ast.Import: imports.run_import,
    ast.ImportFrom: imports.run_from,
}
if hasattr(ast, "TryStar"):
    _HANDLERS[ast.TryStar] = _try
