"""Where nothing was recorded: lines in the source that would cut, on the way to the failing call. Never proven."""

from __future__ import annotations

import ast

from gradwhy.findings import Message
from gradwhy.runtime.explanation import Explanation, Loss
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.sites import located
from gradwhy.source.slicing import dotted_name, lines_behind
from gradwhy.torchapi import table

_LEGACY = frozenset({"torch.Tensor", "torch.FloatTensor", "torch.DoubleTensor", "FloatTensor", "Tensor"})


def explain(loss: Loss, situation: Situation) -> list[Explanation]:
    """Calls by name, nearest to the failing line first; only in the function that failed and what it calls."""
    site = loss.surface.site
    node, source = site.node(), site.source
    if node is None or source is None or source.tree is None:
        return []
    lines = lines_behind(source, node)
    found: list[Explanation] = []
    for inner in ast.walk(source.tree):
        cause = _cause(inner)
        if cause and getattr(inner, "lineno", 0) in lines:
            place = located(source, inner)
            found.append(
                Explanation(
                    cause=cause,
                    at=place,
                    subject=source.segment(inner),
                    certain=False,
                    trains=True,
                    distance=abs(site.line - place.line),
                    steps=((place, Message(f"{cause}.cut")),),
                )
            )
    return sorted(found, key=lambda explanation: explanation.distance)[:3]


def _cause(node: ast.AST) -> str | None:
    if isinstance(node, ast.Attribute) and node.attr == "data":
        return "data-attribute"
    if not isinstance(node, ast.Call):
        return None
    if dotted_name(node.func) in _LEGACY:
        return "tensor-rebuild"
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    row = table.load().op(name) if name else None
    if row is None or not row.cause or row.effect not in ("cut", "detaches", "leaves", "builds"):
        return None
    return row.cause
