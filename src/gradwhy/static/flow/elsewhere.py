"""Calls of NumPy, math and itertools."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gradwhy.static.flow import builtin
from gradwhy.static.flow.histories import NO, PLAIN, Flow, Value, joined_grad
from gradwhy.static.flow.joining import element
from gradwhy.static.flow.ops import cut
from gradwhy.static.flow.values import (
    Array,
    Scalar,
    Seq,
    Tensor,
    Unknown,
    flows,
    plain,
)

if TYPE_CHECKING:
    from gradwhy.static.flow.run import Run


def numpy(r: Run, path: str, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    if path.startswith("numpy.random") or path in ("numpy.save", "numpy.load"):
        return Array(PLAIN)
    given = tuple(dict.fromkeys(flow for value in args for flow in flows(value)))
    if joined_grad(given) != NO and any(isinstance(plain(value), Tensor) for value in args):
        r.tell("numpy", node, flow=given[0])
        return Array(cut(r, node, given, "numpy-roundtrip"))
    real = tuple(flow for flow in given if flow is not PLAIN)
    return Array(Flow("op", NO, node, r.frame, real) if real else PLAIN)


def math(r: Run, args: list[Value], node: ast.AST) -> Value:
    given = [flow for value in args for flow in flows(value)]
    return Scalar(cut(r, node, given, "item") if given else None)


def itertools(r: Run, name: str, args: list[Value], node: ast.AST) -> Value:
    if name == "chain" or name == "chain.from_iterable":
        parts = args
        if name.endswith("from_iterable") and args:
            outer = builtin.sequence_of(r, args[0], node)
            parts = [*outer.items, *([outer.rest] if outer.rest is not None else [])]
        seqs = [builtin.sequence_of(r, part, node) for part in parts]
        rests = [seq.rest for seq in seqs if seq.rest is not None]
        items = [item for seq in seqs for item in seq.items]
        return Seq(items, element(Seq(rests)) if rests else None)
    if name in ("islice", "cycle", "tee") and args:
        seq = builtin.sequence_of(r, args[0], node)
        return seq if name == "islice" else Seq((), element(seq))
    if name == "product":
        return Seq((), Seq([element(builtin.sequence_of(r, arg, node)) for arg in args], kind="tuple"))
    if name in ("count", "repeat"):
        return Seq((), args[0] if name == "repeat" and args else Scalar())
    return Unknown(node)
