"""Comprehensions: lists, sets and dicts made by loops in one expression."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from gradwhy.static.flow import assignment
from gradwhy.static.flow.histories import Fields, Value
from gradwhy.static.flow.iterating import iterations
from gradwhy.static.flow.joining import every, join
from gradwhy.static.flow.truth import truth
from gradwhy.static.flow.values import (
    Const,
    Mapping,
    Parameters,
    Seq,
    Unknown,
    plain,
)

if TYPE_CHECKING:
    from gradwhy.static.flow.run import Run


class _Scope:
    """The names of a comprehension: its own, in front of those around it."""

    def __init__(self, r: Run) -> None:
        self.r = r

    def __enter__(self) -> None:
        frame = self.r.frame
        self.env, self.scopes = frame.env, frame.scopes
        new: Fields = {}
        frame.env, frame.scopes = new, (new, *frame.scopes)

    def __exit__(self, *_: object) -> None:
        self.r.frame.env, self.r.frame.scopes = self.env, self.scopes


def _comprehension(
    r: Run, generators: list[ast.comprehension], make: Callable[[], Value]
) -> tuple[list[Value], Value | None, Value | None]:
    """(values that are there for certain, one for any others, the module whose parameters they are)."""
    certain: list[Value] = []
    others: list[Value] = []
    owners: list[Value | None] = []

    def level(number: int, sure: bool) -> None:
        if number == len(generators):
            (certain if sure else others).append(make())
            return
        generator = generators[number]
        source = plain(r.evaluate(generator.iter))
        if number == 0:
            owners.append(source.owner if isinstance(source, Parameters) else None)
        items, exact = iterations(r, source, generator.iter)
        for item in items if exact else items[:1] if len(items) == 2 and items[0] is items[1] else items:
            assignment.bind(r, generator.target, item)
            answers = [truth(r, r.evaluate(test), test) for test in generator.ifs]
            if False not in answers:
                level(number + 1, sure and exact and None not in answers)

    with _Scope(r):
        level(0, True)
    return certain, every(others) if others else None, owners[0] if owners else None


def list_comprehension(r: Run, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
    items, rest, owner = _comprehension(r, node.generators, lambda: r.evaluate(node.elt))
    if owner is not None and isinstance(node.elt, ast.Name):
        return Parameters(owner, items, rest)
    return Seq(items, rest, "set" if isinstance(node, ast.SetComp) else "list")


def dict_comprehension(r: Run, node: ast.DictComp) -> Value:
    items, rest, _ = _comprehension(
        r, node.generators, lambda: Seq((r.evaluate(node.key), r.evaluate(node.value)), kind="tuple")
    )
    made = Mapping({})
    builtin_rest: Value | None = None
    for pair in [*items, *([rest] if rest is not None else [])]:
        if not isinstance(pair, Seq):
            builtin_rest = Unknown(node)
        elif isinstance(pair.items[0], Const) and pair is not rest:
            made.items[pair.items[0].value] = pair.items[1]
        else:
            builtin_rest = pair.items[1] if builtin_rest is None else join(builtin_rest, pair.items[1])
    made.f["rest"] = builtin_rest
    return made
