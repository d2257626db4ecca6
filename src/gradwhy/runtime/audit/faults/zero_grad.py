"""Gradients that arrive and are zero in every step: the operation whose derivative is zero, or the factor that is."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from gradwhy.findings import Argument, Evidence, Finding, Message, Step
from gradwhy.runtime.account import Place, called, statement_of
from gradwhy.runtime.ancestry import torch_name
from gradwhy.runtime.audit.case import Case, at, place_of
from gradwhy.runtime.audit.ledger import Zeroing
from gradwhy.runtime.audit.roster import Member
from gradwhy.runtime.classes import assignments
from gradwhy.runtime.sites import Site
from gradwhy.source.slicing import bound_names, definitions, targets
from gradwhy.torchapi import table

RANK = 30
_SYMPTOM = "silent-zero-grad"
# torch's names of nodes without "Backward0" (tools/autograd/derivatives.yaml).
_SATURATING_NAMES = """Sigmoid Tanh Softmax LogSoftmax Relu Threshold Hardtanh Hardsigmoid Hardswish Clamp ClampMin ClampMax Elu
Gelu Silu Mish Softplus LogSigmoid Relu6 SmoothL1Loss HuberLoss L1Loss MarginRankingLoss Celu Selu Softshrink Hardshrink"""
_SATURATING = frozenset(_SATURATING_NAMES.split())
_ROUNDING_NAMES = "Round Floor Ceil Trunc Fix Sign Sgn Heaviside Fmod Remainder GridSampler2D GridSampler3D"
_ROUNDING = frozenset(_ROUNDING_NAMES.split())


def find(case: Case) -> Iterable[Finding]:
    flat = {
        account.key: account
        for held in case.optimizers
        for account in case.accounts(held.number)
        if account.steps > 1 and account.always("zero") and account.key in held.ids and account.key not in case.claimed
    }
    groups: dict[tuple[str, str, int], tuple[Zeroing, set[int]]] = {}
    for key in flat:
        zeroing = next((z for z in case.ledger.zeroed.get(key, ()) if z.made is not None), None)
        if zeroing is not None and zeroing.made is not None and not zeroing.constant:
            place = zeroing.made.site
            groups.setdefault((zeroing.node, place.file, place.line), (zeroing, set()))[1].add(key)
    for zeroing, ids in sorted(groups.values(), key=lambda group: -len(group[1])):
        finding = _tell(zeroing, ids, {key for key in flat if flat[key].all_zero}, case)
        if finding is not None:
            case.claimed |= ids
            yield finding


def _tell(zeroing: Zeroing, ids: set[int], zeros: set[int], case: Case) -> Finding | None:
    assert zeroing.made is not None
    place, made = at(zeroing.made.site), zeroing.made
    cause = _cause(zeroing, made.func)
    name = case.owner(ids) or "parameters"
    facts: dict[str, Argument] = {"name": case.called(ids), "count": len(ids), "op": zeroing.node.lower()}
    steps: list[Step] = []
    if zeroing.kind == "operand" and zeroing.operand in zeros and ids & zeros:
        members = case.members([*(ids & zeros), zeroing.operand])
        members.sort(key=lambda m: m.name)
        filled = at(zeroing.written) if zeroing.written is not None else None
        found = next((p for m in members if (p := written(m, case)) is not None), None)
        # A layer of torch begins with random values: another line has set them to zero.
        found = filled if filled is not None and (found is None or _is_layer(found)) else found
        if found is None:
            return None
        cause = "zero-initialized"
        steps = [
            Step(at=found.at, note=Message("zero-initialized.made")),
            Step(at=place.at, note=Message("zero-initialized.multiplied", facts)),
        ]
        place = found
    if cause is None:
        return None
    if cause == "hook-return":
        hook = next((site for key in ids if (site := case.calls.hooks.get(key)) is not None), None)
        if hook is None:
            return None
        place = at(hook)
    elif cause == "custom-backward-wrong":
        place = returned(made.func, case) or place
    elif cause == "rounding":
        place = _passed_round(place, made.site) or place
    elif cause == "saturated" and zeroing.written is not None:
        place = at(zeroing.written)
    back = next((p.chain[0] for p in reversed(case.ledger.passes) if p.chain and p.leaves & ids), None)
    return case.finding(
        cause,
        _SYMPTOM,
        place,
        facts=facts,
        key="" if cause in ("zero-initialized", "constant-normalized") else "zero",
        advice="advice",
        steps=steps
        or [Step(at=place.at, before="tracked", after="tracked", note=Message("words.zero-from-here", facts))],
        evidence=[Evidence(kind="parameter", subject=name, facts={"gradient": 0.0, "parameters": len(ids)})],
        surfaces=back,
    )


def _cause(zeroing: Zeroing, func: object) -> str | None:
    row = table.load().op(torch_name(func))
    if zeroing.single:
        return "constant-normalized"
    if isinstance(func, type):
        return "custom-backward-wrong"
    if zeroing.kind == "hook":
        return "hook-return"
    if zeroing.node in _ROUNDING or (row is not None and row.effect == "zero"):
        return "rounding"
    if zeroing.node in _SATURATING:
        return "saturated"
    return None


def _passed_round(place: Place, site: Site) -> Place | None:
    """The line that passes a rounded value on beside a detached one: straight-through, the wrong way round."""
    source, statement = site.source, statement_of(site)
    names = {name for target in targets(statement) for name in bound_names(target)} if statement is not None else set()
    scope = source.function(statement) or source.tree if source is not None and statement is not None else None
    for node in ast.walk(scope) if scope is not None and names else ():
        if isinstance(node, (ast.Return, ast.Assign)) and node is not statement and node.value is not None:
            detached = [c for c in ast.walk(node.value) if isinstance(c, ast.Call) and called(c) == "detach"]
            outside = [n for n in _outside(node.value, detached) if isinstance(n, ast.Name) and n.id in names]
            if source is not None and detached and outside:
                return place_of(source, node.value)
    return None


def _outside(node: ast.AST, hidden: list[ast.Call]) -> Iterator[ast.AST]:
    if node not in hidden:
        yield node
        for inner in ast.iter_child_nodes(node):
            yield from _outside(inner, hidden)


def returned(function: Any, case: Case, index: int | None = None) -> Place | None:
    """What the ``backward`` of a custom function returns; with ``index`` where that value is computed."""
    name = getattr(function, "__name__", "")
    for source, kind in case.nodes(ast.ClassDef):
        if kind.name == name:
            for method in kind.body:
                if isinstance(method, ast.FunctionDef) and method.name in ("backward", "vjp"):
                    values = [n for n in ast.walk(method) if isinstance(n, ast.Return) and n.value is not None]
                    if not values:
                        return None
                    whole = values[-1].value
                    value: ast.AST | None = whole
                    if index is not None and isinstance(value, ast.Tuple) and index < len(value.elts):
                        elements = whole.elts if isinstance(whole, ast.Tuple) else []
                        value = value.elts[index]
                        # One value for several inputs is right where it is computed: what returns it twice is not.
                        shared = sum(ast.dump(each) == ast.dump(value) for each in elements) > 1
                        if shared:
                            value = whole
                        elif isinstance(value, ast.Name):
                            bound = [v for names, v, _ in definitions(method) if value.id in names]
                            value = bound[-1] if bound else whole
                    return place_of(source, value) if value is not None else None
    return None


def _is_layer(place: Place) -> bool:
    """Whether a line makes a layer of torch.nn and does nothing else with it."""
    name = place.text.partition("(")[0].rpartition(".")[2]
    return name != "Parameter" and isinstance(getattr(torch.nn, name, None), type)


def written(member: Member, case: Case) -> Place | None:
    """The line of a class that makes a parameter, or the layer that it belongs to: the innermost that the user wrote."""
    path = member.name.split(".")
    for depth in range(len(path) - 1, 0, -1):
        kind = case.roster.kinds.get(".".join(path[:depth]))
        for source, node in case.nodes(ast.ClassDef) if kind is not None else ():
            if node.name == kind:
                for value in assignments(node, path[depth]):
                    return place_of(source, value)
    return None
