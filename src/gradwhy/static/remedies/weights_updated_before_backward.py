"""Computes the later loss with the updated weights, or makes one step after both backward passes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradwhy.findings import Code, Edit, Fix, Message
from gradwhy.source.slicing import bound_names, called, definitions, dotted_name, names_read, targets
from gradwhy.source.text import SourceText, Span
from gradwhy.static.remedy import Fault, Spot, replace
from gradwhy.static.rewrites import indent_of, whole_lines_out

CAUSE = "weights-updated-before-backward"
_SIMPLE = (ast.Assign, ast.Expr, ast.AugAssign, ast.AnnAssign)


def remedies(fault: Fault) -> Iterable[Fix]:
    step, surface = fault.spot("stepped"), fault.spot("surfaces")
    if step is None or surface is None or {step.file, surface.file} != {fault.file}:
        return
    yield from _second_loop(fault, step, surface)
    for block, first, last, losses in _turns(fault.source, step, surface):
        yield from _one_step(fault, block, first, last)
        yield from _loss_after_step(fault, block, first, last, losses)


def _turns(source: SourceText, step: Spot, surface: Spot) -> Iterator[tuple[list[ast.stmt], int, int, list[str]]]:
    """(a block, the statement that steps, the one that fails, the names that it goes backward from): the lines themselves, or
    the calls of the function that has both."""
    one, other = source.statement(step.node), source.statement(surface.node)
    if one is None or other is None:
        return
    block = source.block(one)
    if block is not None and other in block and block.index(one) < block.index(other):
        loss = next((n.func.value for n in ast.walk(other) if isinstance(n, ast.Call) and called(n) == "backward"
                     and isinstance(n.func, ast.Attribute)), None)  # fmt: skip
        yield block, block.index(one), block.index(other), sorted(names_read(loss)) if loss is not None else []
        return
    helper = source.function(one)
    if not isinstance(helper, ast.FunctionDef) or source.function(other) is not helper:
        return
    uses = [
        n for n in ast.walk(source.tree or ast.Module([], [])) if isinstance(n, ast.Call) and called(n) == helper.name
    ]
    statements = [source.parents.get(n) for n in uses]
    if len(statements) == 2 and all(isinstance(s, ast.Expr) for s in statements):
        a, b = statements
        assert isinstance(a, ast.Expr) and isinstance(b, ast.Expr)
        block = source.block(a)
        if block is not None and b in block:
            i, j = sorted((block.index(a), block.index(b)))
            yield block, i, j, sorted(names_read(block[j]))


def _second_loop(fault: Fault, step: Spot, surface: Spot) -> Iterator[Fix]:
    """A loop over the losses of one step goes backward alone; another over the same things steps after it."""
    source = fault.source
    one, other = source.statement(step.node), source.statement(surface.node)
    loop = source.parents.get(one) if one is not None else None
    if (
        one is None
        or other is None
        or not isinstance(loop, ast.For)
        or loop.orelse
        or source.parents.get(other) is not loop
    ):
        return
    leaves = any(isinstance(n, (ast.Break, ast.Continue, ast.Return, ast.Yield)) for n in ast.walk(loop))
    if (
        one is not loop.body[-1]
        or len(loop.body) < 2
        or leaves
        or not _runs_again(source, loop)
        or not _alone(source, one)
    ):
        return
    if not isinstance(one, ast.Expr) or called(one.value) != "step" or loop.lineno != loop.iter.end_lineno:
        return
    names = names_read(one)
    if names & {name for part in loop.body for name in _binds(part)} or _forwards(other):
        return
    head, end = indent_of(source, loop.lineno), one.end_lineno or one.lineno
    after = f"{source.line(loop.lineno)}\n{indent_of(source, one.lineno)}{source.segment(one)}\n"
    if not source.line(loop.lineno)[len(head) :].startswith("for ") or not source.line(loop.lineno).rstrip().endswith(
        ":"
    ):
        return
    edit = replace(fault, Span(one.lineno, 1, end, len(source.line(end)) + 1), after.rstrip("\n"))
    title = Message(f"{CAUSE}.fix-loop", {"subject": Code(source.segment(one))})
    yield Fix(title=title, applicability="unsafe", edits=(edit,))


def _runs_again(source: SourceText, loop: ast.For) -> bool:
    """Whether the loop's values can be gone through a second time: a display, a dictionary's, those of named lists."""
    kept = (ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.DictComp)
    scope = source.function(loop) or source.tree
    value = loop.iter
    if isinstance(value, ast.Call):
        pair = dotted_name(value.func) in ("zip", "enumerate", "range", "reversed", "sorted")
        if not pair:
            return called(value) in ("items", "values", "keys") and not value.args
        return all(isinstance(a, kept) or _is_held(scope, a, kept) for a in value.args)
    return isinstance(value, kept) or _is_held(scope, value, kept)


def _is_held(scope: ast.AST | None, value: ast.expr, kept: tuple[type[ast.expr], ...]) -> bool:
    """A name that the function binds to a list or the like, or an attribute: an iterator is seldom kept in one."""
    if isinstance(value, ast.Attribute):
        return True
    found = [v for bound, v, _ in definitions(scope or ast.Module([], [])) if dotted_name(value) in bound]
    return isinstance(value, ast.Name) and bool(found) and all(isinstance(each, kept) for each in found)


def _forwards(statement: ast.stmt) -> bool:
    """Whether the failing statement computes its loss itself, after the step of the turn before."""
    call = next((n for n in ast.walk(statement) if isinstance(n, ast.Call) and called(n) == "backward"), None)
    func = call.func if call is not None else None
    return not isinstance(func, ast.Attribute) or any(isinstance(n, ast.Call) for n in ast.walk(func.value))


def _one_step(fault: Fault, block: list[ast.stmt], first: int, last: int) -> Iterator[Fix]:
    """One optimizer for both losses: gradients add up, and it steps once after them."""
    source = fault.source
    receiver = _receiver(block[first], "step")
    later = [part for part in block[last + 1 :] if _receiver(part, "step")]
    between = block[first + 1 : last]
    if not receiver or any(_receiver(part, "step") for part in between):
        return
    if not all(isinstance(part, _SIMPLE) for part in between) or (later and _receiver(later[0], "step") != receiver):
        return
    if not later and _trained_elsewhere(source, block[last:]):
        return
    gone = [block[first], *(part for part in between if _receiver(part, "zero_grad") == receiver)]
    if any(_receiver(part, "zero_grad") not in ("", receiver) for part in between) or not all(
        _alone(source, p) for p in gone
    ):
        return
    edits = [whole_lines_out(fault, part.lineno, part.end_lineno or part.lineno) for part in gone]
    if not later:
        end = source.span(block[last])
        length = len(source.line(end.end_line)) + 1
        text = f"\n{indent_of(source, block[last].lineno)}{source.segment(block[first])}"
        edits.append(replace(fault, Span(end.end_line, length, end.end_line, length), text))
    title = Message(f"{CAUSE}.fix-step", {"subject": Code(source.segment(block[first]))})
    yield Fix(title=title, applicability="unsafe", edits=tuple(edits))


def _trained_elsewhere(source: SourceText, rest: list[ast.stmt]) -> bool:
    return any(_receiver(part, "zero_grad") for part in rest)


def _receiver(statement: ast.AST, method: str) -> str:
    """``opt`` of the statement ``opt.step()``."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == method:
        return dotted_name(call.func.value)
    return ""


def _loss_after_step(fault: Fault, block: list[ast.stmt], first: int, last: int, losses: list[str]) -> Iterator[Fix]:
    """The statement that computes the later loss moves behind the step, with a forward pass of its own."""
    source, saved = fault.source, fault.spot("saved")
    if saved is None or saved.file != fault.file:
        return
    made = [i for i in range(first) if isinstance(block[i], ast.Assign) and _binds(block[i]) & set(losses)]
    if len(made) != 1:
        return
    at = made[0]
    names = _binds(block[at])
    if any(names & names_read(part) for part in block[at + 1 : last]) or not _alone(source, block[at]):
        return
    holding = [i for i in range(first) if _may_hold(source, block[i], saved)]
    behind = _behind(block, at)
    stale = [i for i in holding if i in behind]
    value = _value(block[at])
    edits: list[Edit] = []
    text = "\n".join(source.line(n) for n in range(block[at].lineno, (block[at].end_lineno or block[at].lineno) + 1))
    if stale == [at]:
        pass
    elif len(stale) == 1 and value is not None and block[at].lineno == block[at].end_lineno:
        replaced = _with_forward(source, block[at], value, block[stale[0]])
        if not replaced:
            return
        text = replaced
    else:
        return
    if _rebinds(block[at + 1 : first + 1], names_read(block[at])):
        return
    step = block[first]
    length = len(source.line(step.end_lineno or step.lineno)) + 1
    end = step.end_lineno or step.lineno
    edits = [whole_lines_out(fault, block[at].lineno, block[at].end_lineno or block[at].lineno)]
    edits.append(replace(fault, Span(end, length, end, length), f"\n{text}"))
    title = Message(f"{CAUSE}.fix-move", {"name": Code(", ".join(sorted(names)))})
    yield Fix(title=title, applicability="unsafe", edits=tuple(edits))


def _binds(statement: ast.AST) -> set[str]:
    return {name for target in targets(statement) for name in bound_names(target)}


def _rebinds(statements: list[ast.stmt], names: set[str]) -> bool:
    return any(names & _binds(node) for part in statements for node in ast.walk(part))


def _value(statement: ast.stmt) -> ast.expr | None:
    return statement.value if isinstance(statement, ast.Assign) else None


def _alone(source: SourceText, statement: ast.stmt) -> bool:
    """Whether its lines hold nothing else but a comment."""
    span = source.span(statement)
    rest = source.line(span.end_line)[span.end_column - 1 :].strip()
    return not source.line(span.line)[: span.column - 1].strip() and (not rest or rest.startswith("#"))


def _may_hold(source: SourceText, statement: ast.stmt, saved: Spot) -> bool:
    """Whether a statement runs the layer that saved its weight: it stands in it, or in the function that it calls."""
    if saved.node in set(ast.walk(statement)):
        return True
    function = source.function(saved.node)
    calls = {called(n) for n in ast.walk(statement) if isinstance(n, ast.Call)}
    name = getattr(function, "name", "")
    if name not in ("forward", "__call__", ""):
        return name in calls
    if not name or name not in ("forward", "__call__"):
        return False
    # A module's forward: any call of something that is neither a function of the file nor of torch's.
    return any(
        isinstance(n, ast.Call) and dotted_name(n.func).partition(".")[0] not in ("torch", "F", "nn", "")
        and (isinstance(n.func, ast.Name) or dotted_name(n.func).startswith("self."))
        for n in ast.walk(statement)
    )  # fmt: skip


def _behind(block: list[ast.stmt], at: int) -> set[int]:
    """The statements before one of a block whose names it uses, directly or by others."""
    wanted, found = names_read(block[at]), {at}
    for i in range(at - 1, -1, -1):
        if _binds(block[i]) & wanted:
            found.add(i)
            wanted |= names_read(block[i])
    return found


def _with_forward(source: SourceText, statement: ast.stmt, value: ast.expr, made: ast.stmt) -> str:
    """The line with the forward pass itself in the place of its stale result."""
    if not isinstance(made, ast.Assign) or len(made.targets) != 1:
        return ""
    target = made.targets[0]
    pairs = [(target, made.value)]
    if isinstance(target, ast.Tuple) and isinstance(made.value, ast.Tuple) and len(target.elts) == len(made.value.elts):
        pairs = list(zip(target.elts, made.value.elts))
    forward = {t.id: v for t, v in pairs if isinstance(t, ast.Name) and isinstance(v, ast.Call)}
    reads = [n for n in ast.walk(value) if isinstance(n, ast.Name) and n.id in forward]
    if len(reads) != 1 or "\n" in source.segment(forward[reads[0].id]):
        return ""
    line, span = source.line(statement.lineno), source.span(reads[0])
    return line[: span.column - 1] + source.segment(forward[reads[0].id]) + line[span.end_column - 1 :]
