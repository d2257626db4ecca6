"""Gradients that are clipped while there are none, or when the step on them is over."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Finding, Message, Step
from gradwhy.runtime.account import Place, called, statement_of
from gradwhy.runtime.audit.case import Case, at
from gradwhy.runtime.audit.ledger import Chain, Event
from gradwhy.runtime.sites import Site
from gradwhy.source.slicing import bound_names, names_read, targets

RANK = 14
CAUSE = "clip-misplaced"


def find(case: Case) -> Iterable[Finding]:
    lines: dict[Chain, list[Event]] = {}
    for event in case.ledger.events:
        if event.kind == "clip" and event.chain:
            lines.setdefault(event.chain, []).append(event)
    for chain, events in lines.items():
        if len(events) < 2:
            continue
        last = events[-1]
        passes = case.passes_to(last.ids)
        if _is_scaled(last, case):
            yield _tell("scaled", chain, (), case)
        elif all(event.fed == 0 for event in events[-8:]):
            if len([p for p in passes if p.order > events[0].order]) > 1:
                yield _tell("early", chain, passes[-1].chain, case)
        elif all(_is_late(event, case) for event in events):
            yield _tell("late", chain, (), case)


def _is_scaled(event: Event, case: Case) -> bool:
    """Whether the gradients still had the factor of a ``GradScaler``: scaled before, and not unscaled since."""
    calls = [call for call in case.watch.scaling.calls if call.order < event.order]
    methods = [call.method for call in calls if call.method != "update"]
    following = next((call.method for call in case.watch.scaling.calls if call.order > event.order), "")
    return bool(methods) and methods[-1] == "scale" and following == "step"


def _is_late(event: Event, case: Case) -> bool:
    """Whether a step came just before, and the gradients are gone before the next."""
    if event.fed == 0:
        return False
    before = max((s.order for s in case.ledger.steps if s.order < event.order), default=-1)
    after = min((s.order for s in case.ledger.steps if s.order > event.order), default=1 << 62)
    if before < 0 or any(before < p.order < event.order for p in case.ledger.passes):
        return False
    if after == 1 << 62:
        return True
    return any(e.ids & event.ids for e in case.ledger.events_between("clear", event.order, after))


def _tell(key: str, chain: Chain, backward: Chain, case: Case) -> Finding:
    place = _about_it(chain)
    steps = [Step(at=place.at, note=Message(f"{CAUSE}.{key}"))]
    if backward:
        steps.append(Step(at=backward[0].location(), note=Message(f"{CAUSE}.filled")))
    return case.finding(CAUSE, "silent-none-grad", place, key=key, steps=steps)


def _about_it(chain: Chain) -> Place:
    """The call to move: that of the innermost function which does something else besides."""
    depth = 0
    while depth + 1 < len(chain) and _does_nothing_else(chain[depth]):
        depth += 1
    return at(chain[depth])


def _does_nothing_else(site: Site) -> bool:
    source, node = site.source, site.node()
    function = source.function(node) if source is not None and node is not None else None
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    own = statement_of(site)
    names = {name for target in targets(own) for name in bound_names(target)} if own is not None else set()
    for statement in function.body:
        if statement is own or any(inner is own for inner in ast.walk(statement)):
            continue
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        if not names_read(statement) & names or any(called(c) == "backward" for c in _calls(statement)):
            return False
    return True


def _calls(node: ast.AST) -> list[ast.Call]:
    return [inner for inner in ast.walk(node) if isinstance(inner, ast.Call)]
