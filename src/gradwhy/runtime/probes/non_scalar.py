"""``grad can be implicitly created only for scalar outputs``: the shape, and where a reduction is missing."""

from __future__ import annotations

import ast
from typing import Any

from gradwhy.findings import Argument, Code, Evidence, Finding, Message, Step
from gradwhy.runtime import account, graph
from gradwhy.runtime.account import Place
from gradwhy.runtime.explanation import Loss
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.lifetime import made
from gradwhy.runtime.node_lines import Made
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.records import node_of
from gradwhy.runtime.sites import Site, located
from gradwhy.source import text
from gradwhy.source.slicing import bound_names, called, dotted_name, names_read, targets

SYMPTOM = "non-scalar"
CAUSE = "reduction-missing"
_MESSAGES = (
    "grad can be implicitly created only for scalar outputs",
    "grad can be implicitly created only for real scalar",
)


def matches(failure: Failure) -> bool:
    return isinstance(failure.error, RuntimeError) and failure.text.startswith(_MESSAGES)


def diagnose(situation: Situation) -> list[Finding]:
    surface = situation.failure.surface
    outputs = situation.failure.differentiated() or []
    index = next((i for i, tensor in enumerate(outputs) if tensor.numel() != 1 or tensor.is_complex()), None)
    if surface is None or index is None:
        return []
    tensor = outputs[index]
    loss = Loss.of(tensor, index, surface, situation)
    facts: dict[str, Argument] = {"loss": Code(loss.name), "shape": str(account.shape_of(tensor))}
    node = node_of(tensor)
    origin = _origin(node, situation) if node is not None else None
    bound = account.binding(loss.name, situation)
    site = _asking(origin) if origin is not None else None
    place = (Place.of(site) if site is not None else None) or bound or Place.of(surface.site)
    steps = [Step(at=place.at, note=Message(f"{CAUSE}.made", facts))]
    asked = unreduced(place)
    if asked is not None:
        steps.insert(0, Step(at=asked.at, note=Message(f"{CAUSE}.asked")))
        place = asked
    elif (call := account.call_at(surface.site)) is not None and account.called(call) == "grad":
        # A gradient of several values at once: the call says how they are weighed, or not.
        place = Place.of(surface.site)
    evidence = [
        Evidence(
            kind="tensor", subject=loss.name, facts={"shape": account.shape_of(tensor), "dtype": str(tensor.dtype)}
        )
    ]
    return [
        account.finding(situation, SYMPTOM, CAUSE, place.at, place.text, facts=facts, steps=steps, evidence=evidence)
    ]


def _origin(node: Any, situation: Situation) -> Made | None:
    """Where a value was made; through sums of losses on to the function that gave the one which is not a scalar."""
    recorder = situation.watch.recorder
    first = origin = made(node, recorder)
    shape = graph.shape_of(node)
    while origin is not None and first is not None and node.name().startswith(_COMBINING):
        node = next((n for n, _ in node.next_functions if n is not None and graph.shape_of(n) == shape), None)
        origin = made(node, recorder) if node is not None else None
        if origin is not None and origin.site.code is not first.site.code:
            return origin
    return first


def _asking(origin: Made) -> Site:
    """The line to blame for a value: that which made it, or, where its function reduces it when it is asked to, the call of it.

    ``return loss.mean() if self.reduction == "mean" else loss``: such a function is right in both ways.
    """
    source, names = origin.site.source, account.names_bound(origin.site)
    function = source.function_at(origin.site.code.co_firstlineno, origin.site.code.co_name) if source else None
    ways = _ways_of(function, names) if function is not None else set()
    callers = [site for site in origin.chain if site.code is not origin.site.code]
    return callers[0] if ways == {True, False} and callers else origin.site


def _ways_of(function: ast.AST, names: list[str]) -> set[bool]:
    """The same of all that a function returns, and of ``if mean: loss = loss.mean()`` on the way."""
    ways: set[bool] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            ways |= _ways(node.value, names)
        elif isinstance(node, ast.Assign) and set(names) & {n for t in targets(node) for n in bound_names(t)}:
            ways |= _ways(node.value, names) & {True}
    return ways


def _ways(value: ast.expr, names: list[str]) -> set[bool]:
    """Whether what a function gives back of these names is reduced: True, False, or both, of ``a if b else c``."""
    if isinstance(value, ast.IfExp):
        return _ways(value.body, names) | _ways(value.orelse, names)
    if dotted_name(value) in names:
        return {False}
    reduces = isinstance(value, ast.Call) and called(value) in _REDUCING
    return {True} if reduces and names_read(value) & set(names) else set()


_REDUCING = ("mean", "sum", "nanmean", "nansum")
_COMBINING = ("Add", "Sub", "Mul", "Div")


def unreduced(made_at: Place) -> Place | None:
    """Where ``reduction="none"`` was asked for: in the call that made the loss, or where its criterion was made."""
    source = text.read(made_at.at.file)
    if source is None or source.tree is None:
        return None
    calls = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call) and _asks_for_none(node)]
    there = [node for node in calls if node.lineno <= made_at.at.line <= (node.end_lineno or node.lineno)]
    made_by = {
        dotted_name(inner.func).rpartition(".")[2]
        for inner in ast.walk(source.statement_at(made_at.at.line) or ast.Module([], []))
        if isinstance(inner, ast.Call)
    } - {""}
    for node in calls:
        statement = source.statement(node)
        names = (
            {name.rpartition(".")[2] for target in targets(statement) for name in bound_names(target)}
            if statement
            else set()
        )
        if names & made_by:
            there.append(node)
    if not there:
        return None
    return Place(located(source, there[0]), source.segment(there[0]))


def _asks_for_none(node: ast.Call) -> bool:
    return any(
        isinstance(k.value, ast.Constant) and (k.arg, k.value.value) in (("reduction", "none"), ("reduce", False))
        for k in node.keywords
    )
