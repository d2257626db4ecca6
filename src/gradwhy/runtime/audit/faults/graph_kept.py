"""Graphs of steps that are over, kept alive by a name of the program, more of them with each step."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from gradwhy.findings import Argument, Code, Evidence, Finding, Message, Step
from gradwhy.runtime.account import Place, called
from gradwhy.runtime.audit.case import Case, at, place_of
from gradwhy.runtime.audit.modules import Kept

RANK = 50
CAUSE = "loss-accumulated"
_KINDS = (ast.Call, ast.Assign, ast.AugAssign)
_ADDING = ("append", "extend", "add", "appendleft", "update", "insert", "setdefault", "push")
# heapq and bisect take the list first.
_GIVEN = ("heappush", "heappushpop", "heapreplace", "insort", "insort_left", "insort_right")


def find(case: Case) -> Iterable[Finding]:
    kept = [each for each in case.inspection.kept.values() if _grows(each)]
    for each in sorted(kept, key=lambda k: (-len(k.sizes), -k.sizes[-1])):
        places = list(_where(each, case))
        if not places:
            continue
        place = places[0]
        facts: dict[str, Argument] = {"name": Code(each.name), "count": each.sizes[-1], "steps": each.steps[-1]}
        yield case.finding(
            CAUSE,
            "memory-graph-kept",
            place,
            facts=facts,
            key="kept",
            steps=[Step(at=place.at, note=Message(f"{CAUSE}.keeps", facts))],
            evidence=[Evidence(kind="graph", subject=each.name, facts={"old_nodes": each.sizes[-1]})],
            certain=len(places) == 1,
            severity="warning",
        )
        return


def _grows(each: Kept) -> bool:
    """More at one look than at the one before: a value that is carried over one step does not grow. It may begin anew with each
    epoch."""
    return any(later > earlier + 1 for earlier, later in zip(each.sizes, each.sizes[1:]))


def _where(each: Kept, case: Case) -> Iterator[Place]:
    """The lines that add to such a name, from the source; where there is none, the line that made the last value."""
    last = re.split(r"[.\[]", each.name.rstrip("]"))[-1].strip("'\"")
    bare = re.sub(r"\[.*", "", each.name).rpartition(".")[2]
    found = [place_of(source, node) for source, node in case.nodes(*_KINDS) if _adds_to(node, (last, bare))]
    made = case.watch.recorder.nodes.made(each.number)
    yield from found or ([at(made.site)] if made is not None else [])


def _adds_to(node: ast.AST, names: tuple[str, str]) -> bool:
    if isinstance(node, ast.Call):
        if called(node) in _GIVEN:
            return len(node.args) > 1 and _last_name(node.args[0]) in names
        function = node.func
        adds = isinstance(function, ast.Attribute) and function.attr in _ADDING and bool(node.args)
        return adds and isinstance(function, ast.Attribute) and _last_name(function.value) in names
    if isinstance(node, ast.Assign):
        return any(isinstance(t, ast.Subscript) and _last_name(t.value) in names for t in node.targets)
    return isinstance(node, ast.AugAssign) and _last_name(node.target) in names


def _last_name(node: ast.AST) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
