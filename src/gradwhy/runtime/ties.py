"""Tells why a graph that was used up, or changed, is reached again: one reason, one line, the stations between."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from gradwhy.findings import Argument, Code, Evidence, Finding, Message, Step
from gradwhy.runtime import account, carried, graph
from gradwhy.runtime.account import Place
from gradwhy.runtime.lifetime import Tie, made
from gradwhy.runtime.node_lines import Made
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.records import node_of
from gradwhy.runtime.sites import Site, located
from gradwhy.source.slicing import definitions, dotted_name, names_read
from gradwhy.source.text import SourceText

_ADDING = ("Add", "Sum", "Stack", "Cat", "Mean")
_SCALING = ("Mul", "Div")
_LOSSES = (
    "MseLoss",
    "L1Loss",
    "SmoothL1Loss",
    "HuberLoss",
    "NllLoss",
    "BinaryCrossEntropy",
    "KlDiv",
    "CtcLoss",
    "CrossEntropy",
    "SoftMarginLoss",
    "MultiMargin",
    "MultilabelMargin",
)


def told(tie: Tie, roots: Collection[Any], situation: Situation, symptom: str) -> list[Finding]:
    """The finding for a tie: the state carried over, the losses added up, or the value computed once and used again."""
    recorder = situation.watch.recorder
    before = made(tie.old, recorder)
    after = made(tie.new, recorder) if tie.new is not None else None
    surface = situation.failure.surface
    if surface is None:
        return []
    names = _names(tie, before, after, situation)
    name = names[0] if names else account.expression(before.site if before else None)
    origin = Place.of(before.outside_forward()) if before is not None else account.binding(name, situation)
    fixed = _bound_before_the_loop(name, situation) if tie.crosses else None
    cause, at = ("freed-graph-reused", fixed) if fixed is not None else _reason(tie, origin, after, situation)
    if at is None:
        return []
    if at is origin and before is not None:
        at = _before_the_loop(before, situation) or at
    # A node with several outputs has a name for each: the one that the line reads.
    name = next((each for each in names if re.search(rf"(?<![\w.]){re.escape(each)}(?!\w)", at.text)), name)
    facts: dict[str, Argument] = {"name": Code(name or "the value")}
    steps: list[Step] = []
    if origin is not None:
        steps.append(Step(at=origin.at, note=Message("freed-graph-reused.made", facts)))
    if tie.earlier is not None and tie.earlier.chain:
        key = "freed-graph-reused.kept" if tie.earlier.kept else "freed-graph-reused.freed"
        steps.append(account.station(tie.earlier.chain[0], Message(key, {"times": tie.earlier.times})))
    if after is not None and (before is None or after.site != before.site or tie.crosses):
        steps.append(account.station(after.site, Message("freed-graph-reused.again", facts)))
    # Where the value itself is of the earlier graph, the node is the one whose saved values are gone, anywhere in that graph.
    seen = Evidence(kind="graph", subject=name or tie.old.name(), facts={"grad_fn": tie.old.name()})
    evidence = [seen if tie.new is not None else replace(seen, subject=tie.old.name(), facts={"saved": "freed"})]
    lines = {each.chain[0].line for each in situation.watch.journal.passes if each.chain and not each.kept}
    return [
        account.finding(
            situation,
            symptom,
            cause,
            at.at,
            at.text,
            facts=facts,
            steps=steps,
            evidence=evidence,
            certain=bool(tie.before) or len(lines) <= 1,
        )
    ]


def guessed(situation: Situation, symptom: str) -> list[Finding]:
    """What the source and the live frames suggest where no operation was recorded."""
    found = carried.explain(situation)
    if not found:
        return []
    best = found[0]
    facts: dict[str, Argument] = {"name": Code(best.name or "a value")}
    return [account.finding(situation, symptom, best.cause, best.place.at, best.place.text, facts=facts, certain=False)]


def _reason(tie: Tie, origin: Place | None, after: Made | None, situation: Situation) -> tuple[str, Place | None]:
    """The cause, and the line where a person would cut the tie."""
    if not tie.crosses or after is None:
        return "freed-graph-reused", _of_one_graph(tie, origin, situation)
    if _is_of_losses(tie):
        return "loss-accumulated", Place.of(after.site)
    if tie.repeats(situation.watch.recorder):
        return "hidden-state-carried", Place.of(_carrying(tie, after, situation))
    return "freed-graph-reused", _of_one_graph(tie, origin, situation)


def _carrying(tie: Tie, after: Made, situation: Situation) -> Site:
    """The line that takes the state over: where it is an attribute, the line that uses it; where it is a local variable, the
    line of the function that was being executed during both passes."""
    before = made(tie.old, situation.watch.recorder)
    bound = account.names_bound(before.site) if before is not None else []
    if any("." in name for name in bound) or tie.earlier is None:
        return after.site
    during = {site.code for site in tie.earlier.chain}
    return next((site for site in after.chain if site.code in during), after.site)


def _of_one_graph(tie: Tie, origin: Place | None, situation: Situation) -> Place | None:
    """Two passes over one graph. Between steps of an optimizer they are two losses of one turn: where another optimizer
    stepped in between, the first loss should have stopped at the shared value, else the first pass lets go of what the
    second needs. On the same line in different turns, the value should be computed anew for each."""
    earlier, surface = tie.earlier, situation.failure.surface
    if earlier is None or not earlier.chain or surface is None:
        return origin
    stepped = any(step.order > earlier.order for step in situation.watch.journal.stepped)
    if _same_place(earlier.chain[0], surface.site):
        return origin if stepped or _repeats_by_itself(situation) else _first_pass(tie)
    if stepped:
        users = [node for node in tie.before if tie.old in tie.before[node] and node not in tie.walk]
        first = made(max(users, key=graph.number_of), situation.watch.recorder) if users else None
        return Place.of(first.site) if first is not None else origin
    return _first_pass(tie)


def _bound_before_the_loop(name: str, situation: Situation) -> Place | None:
    """What a local variable is set to, where that is done once, before the loop that is running: nothing is carried by it."""
    for live in reversed(situation.failure.user_frames):
        source, now = live.site.source, live.site.node()
        scope = source.function(now) or source.tree if source is not None and now is not None else None
        found = (
            [(value, node) for bound, value, node in definitions(scope) if name in bound] if scope is not None else []
        )
        if source is None or now is None or scope is None or not found:
            continue
        if any(_writes_to(node, name) for node in ast.walk(scope)):
            return None
        value, node = found[0]
        return (
            Place(located(source, value, live.site.function), source.segment(value))
            if len(found) == 1 and isinstance(node, ast.Assign) and _runs_before(node, source, now)
            else None
        )
    return None


def _writes_to(node: ast.AST, name: str) -> bool:
    """``h[:] = ...`` and ``h.copy_(...)``: what the name stands for is another value afterwards."""
    if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
        return dotted_name(node.value) == name
    method = node.func if isinstance(node, ast.Call) else None
    return isinstance(method, ast.Attribute) and method.attr.endswith("_") and dotted_name(method.value) == name


def _runs_before(node: ast.stmt, source: SourceText, now: ast.AST) -> bool:
    turns = [outer.lineno for outer in source.enclosing(now) if isinstance(outer, (ast.For, ast.AsyncFor, ast.While))
             and source.function(outer) is source.function(now)]  # fmt: skip
    return bool(turns) and node.lineno < min(turns)


def _before_the_loop(before: Made, situation: Situation) -> Place | None:
    """Where a function that the program calls before its loop computed the value: the line of the call. The function is right,
    and called once instead of in each turn."""
    live = {each.site.code: each.site for each in situation.failure.user_frames}
    site = next((site for site in before.chain if site.code in live), None)
    source = site.source if site is not None else None
    if site is None or source is None:
        return None
    now, called = source.statement_at(live[site.code].line), source.statement_at(site.line)
    # Called anew in each turn of an outer loop, it isn't called too seldom.
    return Place.of(site) if now is not None and called is not None and _runs_before(called, source, now) else None


def _repeats_by_itself(situation: Situation) -> bool:
    """Whether an optimizer calls the failing function again and again (LBFGS), or none is there to end a turn."""
    inside = any("/torch/optim/" in live.site.file.replace("\\", "/") for live in situation.failure.frames)
    return inside or not situation.watch.journal.optimizers


def _first_pass(tie: Tie) -> Place | None:
    return Place.of(tie.earlier.chain[0]) if tie.earlier is not None and tie.earlier.chain else None


def _is_of_losses(tie: Tie) -> bool:
    """Whether the old value is a loss, or computed from losses: one number that is added to others, scaled or not, or a loss
    function below it. What a model carries from step to step has none."""
    using = [tie.new]
    if tie.new.name().startswith(_SCALING):
        using = [node for node, following in tie.walk.items() if tie.new in following]
    if graph.shape_of(tie.old) == () and any(node.name().startswith(_ADDING) for node in using):
        return True
    return any(each.name().startswith(_LOSSES) for each in graph.nodes_from([tie.old], limit=200))


def _same_place(a: Site, b: Site) -> bool:
    return a.code is b.code and a.line == b.line


def _names(tie: Tie, before: Made | None, after: Made | None, situation: Situation) -> list[str]:
    """What the user calls the old value: live names for it, else the name that one line binds and the other reads."""
    found = [name for name, tensor in situation.names.tensors() if node_of(tensor) is tie.old]
    if found:
        return found
    bound = account.names_bound(before.site) if before is not None else []
    source = after.site.source if after is not None else None
    node = after.site.node() if after is not None else None
    statement = source.statement(node) if source is not None and node is not None else None
    read = names_read(statement) if statement is not None else set()
    return [name for name in bound if name in read][:1] or (bound if len(bound) == 1 else [])
