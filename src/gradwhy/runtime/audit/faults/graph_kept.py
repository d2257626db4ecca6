"""Graphs of steps that are over, kept alive by a name of the program, more of them with each step."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Evidence, Finding, Message, Step
from gradwhy.runtime.account import Place
from gradwhy.runtime.audit.case import Case, at, place_of
from gradwhy.runtime.audit.modules import Kept

RANK = 50
CAUSE = "loss-accumulated"
_ADDING = ("append", "extend", "add", "appendleft", "update", "insert", "setdefault", "push")


def find(case: Case) -> Iterable[Finding]:
    told: set[tuple[str, int]] = set()
    kept = [each for each in case.inspection.kept.values() if _grows(each)]
    for each in sorted(kept, key=lambda k: (-len(k.sizes), -k.sizes[-1])):
        place = _where(each, case)
        if place is None or (place.at.file, place.at.line) in told:
            continue
        told.add((place.at.file, place.at.line))
        facts: dict[str, Argument] = {"name": Code(each.name), "count": each.sizes[-1], "steps": each.steps[-1]}
        yield case.finding(
            CAUSE,
            "memory-graph-kept",
            place,
            facts=facts,
            key="kept",
            steps=[Step(at=place.at, note=Message(f"{CAUSE}.keeps", facts))],
            evidence=[Evidence(kind="graph", subject=each.name, facts={"old_nodes": each.sizes[-1]})],
            severity="warning",
        )
        return


def _grows(each: Kept) -> bool:
    """More at one look than at the one before: a value that is carried over one step does not grow. It may begin anew with each
    epoch."""
    return any(later > earlier + 1 for earlier, later in zip(each.sizes, each.sizes[1:]))


def _where(each: Kept, case: Case) -> Place | None:
    last = re.split(r"[.\[]", each.name.rstrip("]"))[-1].strip("'\"")
    bare = re.sub(r"\[.*", "", each.name).rpartition(".")[2]
    for source, node in case.nodes(ast.Call, ast.Assign, ast.AugAssign):
        if isinstance(node, ast.Call):
            receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
            adds = isinstance(node.func, ast.Attribute) and node.func.attr in _ADDING and bool(node.args)
            if adds and receiver is not None and _last_name(receiver) in (last, bare):
                return place_of(source, node)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and _last_name(target.value) in (last, bare):
                    return place_of(source, node)
        elif _last_name(node.target) in (last, bare):
            return place_of(source, node)
    made = case.watch.recorder.nodes.made(each.number)
    return at(made.site) if made is not None else None


def _last_name(node: ast.AST) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
