"""Where nothing was recorded: values with a graph that live on from pass to pass, found in the live frames and the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from gradwhy.runtime import live, written
from gradwhy.runtime.account import Place
from gradwhy.runtime.failure import LiveFrame
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.records import node_of
from gradwhy.runtime.sites import located
from gradwhy.source.slicing import bound_names, definitions, dotted_name, names_read, targets
from gradwhy.source.text import SourceText


@dataclass(frozen=True, slots=True)
class Carried:
    """A cause that the source suggests, the line, and the name of the value. Never proven."""

    cause: str
    place: Place
    name: str


def explain(situation: Situation) -> list[Carried]:
    """The likeliest first: another pass of the same turn, losses that a loop adds up, states that it hands on, values kept in an
    object, values made before the loop or outside the function."""
    frames = situation.failure.user_frames[::-1]
    found = list(_two_passes(frames[0])) if frames else []
    for frame in frames:
        loop = _loop(frame)
        if loop is not None:
            found += _handed_on(frame, loop)
            break
    found += _kept(situation)
    for frame in frames:
        found += _made_outside(frame)
    return found


def _statement(frame: LiveFrame) -> tuple[SourceText, ast.stmt] | None:
    source = frame.site.source
    statement = source.statement_at(frame.site.line) if source is not None else None
    return (source, statement) if source is not None and statement is not None else None


def _loop(frame: LiveFrame) -> ast.For | ast.While | None:
    """The innermost loop around the line that a frame is at."""
    found = _statement(frame)
    if found is None:
        return None
    source, statement = found
    function = source.function(statement)
    loops = [node for node in source.enclosing(statement) if isinstance(node, (ast.For, ast.While))]
    return next((loop for loop in loops if source.function(loop) is function), None)


def _handed_on(frame: LiveFrame, loop: ast.For | ast.While) -> Iterator[Carried]:
    """Names that a turn of the loop reads before it binds them, and that stand for tensors with a graph."""
    source = frame.site.source
    if source is None:
        return
    bound: set[str] = set(bound_names(loop.target)) if isinstance(loop, ast.For) else set()
    inside = {name for names, _, _ in definitions(loop) for name in names}
    for statement in loop.body:
        read = {
            node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        written = {name for target in targets(statement) for name in bound_names(target)}
        if isinstance(statement, ast.AugAssign):
            read |= written
        for name in sorted((read & inside) - bound):
            held = live.value(ast.Name(name, ast.Load()), frame)
            if _has_graph(held):
                added = isinstance(statement, ast.AugAssign) or _adds_to_itself(statement, name)
                cause = "loss-accumulated" if added else "hidden-state-carried"
                yield Carried(cause, Place(located(source, statement), source.segment(statement)), name)
        bound |= written


def _adds_to_itself(statement: ast.stmt, name: str) -> bool:
    value = getattr(statement, "value", None)
    return isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) and name in names_read(value)


def _two_passes(frame: LiveFrame) -> Iterator[Carried]:
    """Another ``backward()`` earlier in the same turn of the same function."""
    found = _statement(frame)
    if found is None:
        return
    source, failing = found
    within = _loop(frame) or source.function(failing) or source.tree
    for node in ast.walk(within) if within is not None else ():
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("backward", "grad")
        ):
            other = source.function(node) is not source.function(failing) or source.statement(node) is failing
            if not other and node.lineno < failing.lineno and not any(k.arg in _KEEPING for k in node.keywords):
                name = dotted_name(node.func.value)
                yield Carried("freed-graph-reused", Place(located(source, node), source.segment(node)), name)


_KEEPING = ("retain_graph", "create_graph")


def _kept(situation: Situation) -> Iterator[Carried]:
    """Attributes, and items of containers, that hold tensors with a graph: the line of the user's files that puts them there."""
    seen: set[str] = set()
    for name, tensor in situation.names.tensors():
        owner, _, attribute = name.partition("[")[0].rpartition(".")
        if node_of(tensor) is None or not owner or attribute in seen:
            continue
        seen.add(attribute)
        for source in written.sources(situation):
            for node in ast.walk(source.tree or ast.Module([], [])):
                if _puts(node, attribute, inside="[" in name):
                    yield Carried(
                        _kind(source, node, attribute), Place(located(source, node), source.segment(node)), name
                    )


def _puts(node: ast.AST, attribute: str, inside: bool) -> bool:
    """``self.x = ...`` puts a value there; where it is an item of a container, ``self.x[i] = ...`` or ``self.x.append(...)``."""
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        parts = targets(node)
        wanted = [part.value for part in parts if isinstance(part, ast.Subscript)] if inside else parts
        return any(isinstance(part, ast.Attribute) and part.attr == attribute for part in wanted) and not isinstance(
            node.value, ast.Constant
        )
    if inside and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
        return isinstance(node.func.value, ast.Attribute) and node.func.value.attr == attribute
    return False


def _kind(source: SourceText, node: ast.AST, attribute: str) -> str:
    """A state where the same function also reads it to make the next one; else a value that is kept and used again."""
    function = source.function(node)
    value = getattr(node, "value", None)
    reads = function is not None and any(
        isinstance(n, ast.Attribute) and n.attr == attribute and isinstance(n.ctx, ast.Load) for n in ast.walk(function)
    )
    conditional = any(isinstance(outer, ast.If) for outer in source.enclosing(node))
    return "hidden-state-carried" if reads and value is not None and not conditional else "freed-graph-reused"


def _made_outside(frame: LiveFrame) -> Iterator[Carried]:
    """Names that the loop, or the function, only reads: bound before it, or in the functions around, to tensors with a graph."""
    found = _statement(frame)
    if found is None:
        return
    source, failing = found
    within: ast.AST | None = _loop(frame) or source.function(failing)
    if within is None:
        return
    inside = {name for names, _, _ in definitions(within) for name in names}
    read = {node.id for node in ast.walk(within) if isinstance(node, ast.Name)} - inside
    for outer in source.enclosing(within):
        if not isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
            continue
        for names, value, statement in definitions(outer):
            for name in sorted(names & read):
                held = live.value(ast.Name(name, ast.Load()), frame)
                if _has_graph(held) and getattr(statement, "lineno", 0) < getattr(within, "lineno", 0):
                    yield Carried("freed-graph-reused", Place(located(source, value), source.segment(value)), name)


def _has_graph(held: Any) -> bool:
    if issubclass(type(held), torch.Tensor):
        return node_of(held) is not None
    if type(held) in (list, tuple):
        return any(_has_graph(item) for item in held[:64])
    if type(held) is dict:
        return any(_has_graph(item) for item in list(held.values())[:64])
    return False
