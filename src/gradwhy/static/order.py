"""In which order the calls of a training step come, and whether one always comes with another."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradwhy.static.flow.frames import Event, Frame
from gradwhy.static.program import Program

_CHOICES = (ast.If, ast.IfExp, ast.Try, ast.BoolOp, ast.Match)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def same_block(program: Program, one: Event, other: Event) -> bool:
    """Whether two calls are statements of one block of one call of a function: where the first is run, so is the second,
    unless it raises or leaves."""
    if one.frame is not other.frame:
        return False
    source = program.source_of(one.at)
    first, second = source.statement(one.at), source.statement(other.at)
    return first is not None and second is not None and second in source.block(first)


def outwards(program: Program, event: Event) -> Iterator[tuple[ast.AST, Frame]]:
    """What encloses a call, from the inside out: the nodes of its function, then those of the functions that called it."""
    node: ast.AST | None = event.at
    frame: Frame | None = event.frame
    while node is not None and frame is not None:
        for outer in program.source_of(node).enclosing(node):
            if isinstance(outer, _FUNCTIONS):
                break
            yield outer, frame
        node, frame = frame.call, frame.parent


def is_conditional(program: Program, event: Event) -> bool:
    """Whether a condition decides if the call is made at all."""
    return any(isinstance(outer, _CHOICES) for outer, _ in outwards(program, event))


def loop_of(program: Program, event: Event) -> ast.AST | None:
    """The innermost loop around a call, in its function or in one that called it."""
    return next((outer for outer, _ in outwards(program, event) if isinstance(outer, _LOOPS)), None)


def is_within(program: Program, event: Event, outer: ast.AST) -> bool:
    return any(node is outer for node, _ in outwards(program, event))
