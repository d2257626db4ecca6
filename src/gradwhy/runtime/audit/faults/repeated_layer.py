"""One layer many times where several were meant: ``[layer] * n`` repeats the reference."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Evidence, Finding
from gradwhy.runtime.account import Place
from gradwhy.runtime.audit.case import Case, place_of

RANK = 42
CAUSE = "double-use"


def find(case: Case) -> Iterable[Finding]:
    for repeated in case.inspection.repeated.values():
        place = _multiplied(case)
        if place is None:
            return
        facts: dict[str, Argument] = {
            "name": Code(repeated.container), "kind": Code(repeated.kind), "times": repeated.times
        }  # fmt: skip
        yield case.finding(
            CAUSE, "silent-not-in-optimizer", place, facts=facts, key="repeated", severity="warning", certain=False,
            evidence=[Evidence(kind="parameter", subject=repeated.container, facts={"same_module": repeated.times})],
        )  # fmt: skip
        return


def _multiplied(case: Case) -> Place | None:
    """``[layer] * n``, or ``[layer for _ in range(n)]``."""
    for source, node in case.nodes(ast.BinOp, ast.ListComp):
        if isinstance(node, ast.BinOp):
            lists = [side for side in (node.left, node.right) if isinstance(side, (ast.List, ast.Tuple))]
            if (
                isinstance(node.op, ast.Mult)
                and lists
                and any(isinstance(e, (ast.Call, ast.Name)) for e in lists[0].elts)
            ):
                return place_of(source, node)
        elif isinstance(node.elt, ast.Name):
            loops = {name.id for g in node.generators for name in ast.walk(g.target) if isinstance(name, ast.Name)}
            if node.elt.id not in loops:
                return place_of(source, node)
    return None
