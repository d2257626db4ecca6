"""Clips between the backward pass and the step, on gradients without the scaler's factor."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Edit, Fix, Message
from gradwhy.source.slicing import bound_names, dotted_name, names_read, targets
from gradwhy.static import lines
from gradwhy.static.remedy import Fault, Spot
from gradwhy.static.rewrites import whole_lines_out


def remedies(fault: Fault) -> Iterable[Fix]:
    """The clipping moves below the pass or above the step; ``unscale_`` is put before it where that is missing."""
    clip = fault.source.statement(fault.node)
    if clip is None or isinstance(clip, (ast.Return, ast.If, ast.For, ast.While, ast.With)):
        return
    block = fault.source.block(clip)
    if fault.headline == "headline-scaled":
        yield from _unscaled(fault, clip, block)
    elif fault.headline == "headline-late":
        before = [s for s in block[: block.index(clip)] if lines.steps(s)] if block else []
        if before and _movable(clip, block[block.index(before[-1]) : block.index(clip)]):
            yield from _fix("fix", fault, clip, lines.move(fault, clip, before[-1]))
    elif fault.headline == "headline-early":
        yield from _after_the_pass(fault, clip, block)


def _movable(clip: ast.stmt, over: list[ast.stmt]) -> bool:
    """Whether what the clipping reads is there already above these statements, and they read nothing that it makes."""
    made = {name for target in targets(clip) for name in bound_names(target)}
    read = names_read(clip)
    for statement in over:
        bound = {name for inner in ast.walk(statement) for target in targets(inner) for name in bound_names(target)}
        if bound & read or made & names_read(statement):
            return False
    return True


def _after_the_pass(fault: Fault, clip: ast.stmt, block: list[ast.stmt]) -> Iterable[Fix]:
    filled = fault.spot("filled")
    if filled is None or filled.file != fault.file:
        return
    went = lines.in_block(fault.source, filled.node, block)
    if went is not None:
        between = block[block.index(clip) + 1 : block.index(went) + 1]
        if block.index(went) > block.index(clip) and _movable(clip, between) and not any(map(lines.steps, between)):
            yield from _fix("fix", fault, clip, lines.move(fault, clip, went, after=True))
        return
    yield from _in_the_caller(fault, clip, filled)


def _in_the_caller(fault: Fault, clip: ast.stmt, filled: Spot) -> Iterable[Fix]:
    """A method that clips and is called before the pass: the clipping goes to the caller, ``self`` by the name there."""
    source = fault.source
    method, caller = source.function(clip), source.function(filled.node)
    went = source.statement(filled.node)
    if not isinstance(method, ast.FunctionDef) or not isinstance(clip, ast.Expr) or went is None or caller is None:
        return
    owners = {
        dotted_name(call.func.value)
        for call in lines.calls(ast.Module(list(getattr(caller, "body", [])), []), method.name)
        if isinstance(call.func, ast.Attribute)
    }
    selves = {a.arg for a in method.args.args[:1]}
    local = {a.arg for a in (*method.args.args, *method.args.kwonlyargs)} | {
        name for inner in ast.walk(method) for target in targets(inner) for name in bound_names(target)
    }
    read = {n.id for n in ast.walk(clip) if isinstance(n, ast.Name)}
    if len(owners) != 1 or read & local - selves or not selves <= read or clip.lineno != clip.end_lineno:
        return
    owner = owners.pop()
    if not owner or len(source.block(clip)) < 2 or not lines.alone(source, clip):
        return
    text = _renamed(source.segment(clip), clip, selves.pop(), owner)
    put = lines.put_after(fault, went, text)
    if put is not None:
        yield from _fix("fix", fault, clip, (put, whole_lines_out(fault, clip.lineno, clip.lineno)))


def _renamed(text: str, clip: ast.stmt, old: str, new: str) -> str:
    """The text of a statement with one name in the place of another."""
    raw = text.encode()
    at = [n.col_offset - clip.col_offset for n in ast.walk(clip) if isinstance(n, ast.Name) and n.id == old]
    for start in sorted(at, reverse=True):
        raw = raw[:start] + new.encode() + raw[start + len(old.encode()) :]
    return raw.decode()


def _unscaled(fault: Fault, clip: ast.stmt, block: list[ast.stmt]) -> Iterable[Fix]:
    """``scaler.unscale_(optimizer)`` of the scaler that steps after the clipping."""
    for later in block[block.index(clip) + 1 :] if clip in block else []:
        for call, name in lines.steps(later):
            if call.args and isinstance(call.func, ast.Attribute):
                text = f"{dotted_name(call.func.value)}.unscale_({name})"
                edit = lines.put_before(fault, clip, text)
                title = Message("clip-misplaced.fix-unscale", {"result": Code(text)})
                if edit is not None:
                    yield Fix(title=title, applicability="unsafe", edits=(edit,))
                return


def _fix(key: str, fault: Fault, clip: ast.stmt, edits: tuple[Edit, ...]) -> Iterable[Fix]:
    if edits:
        title = Message(f"clip-misplaced.{key}", {"subject": Code(fault.source.segment(clip))})
        yield Fix(title=title, applicability="unsafe", edits=edits)
