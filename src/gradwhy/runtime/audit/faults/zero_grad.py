"""Gradients that arrive and are zero in every step: the operation whose derivative is zero, or the factor that is."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Evidence, Finding, Message, Step
from gradwhy.runtime.account import Place
from gradwhy.runtime.ancestry import torch_name
from gradwhy.runtime.audit.case import Case, at, place_of
from gradwhy.runtime.audit.ledger import Zeroing
from gradwhy.runtime.audit.roster import Member
from gradwhy.runtime.classes import assignments
from gradwhy.torchapi import table

RANK = 30
_SYMPTOM = "silent-zero-grad"
_SATURATING = frozenset(
    """Sigmoid Tanh Softmax LogSoftmax Relu Threshold Hardtanh Hardsigmoid Hardswish Clamp ClampMin ClampMax Elu Gelu Silu Mish
    Softplus LogSigmoid Relu6 SmoothL1Loss HuberLoss L1Loss MarginRankingLoss Celu Selu Softshrink Hardshrink""".split()
)
_ROUNDING = frozenset(
    "Round Floor Ceil Trunc Fix Sign Sgn Heaviside Fmod Remainder GridSampler2D GridSampler3D".split()
)
_PRODUCTS = frozenset("Mul Mm Addmm Bmm Baddbmm Mv Dot Convolution Linear MatMul Prod Addcmul".split())


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
    name = case.owner(ids) or "the parameters"
    facts: dict[str, Argument] = {"name": Code(name), "count": len(ids), "op": zeroing.node.lower()}
    steps: list[Step] = []
    if zeroing.kind == "operand" and zeroing.operand in zeros and ids & zeros:
        members = case.members([*(ids & zeros), zeroing.operand])
        found = next((p for m in members if (p := written(m, case)) is not None), None)
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
    if zeroing.kind == "hook":
        return "hook-return"
    if zeroing.node in _ROUNDING or (row is not None and row.effect == "zero"):
        return "rounding"
    if zeroing.node in _SATURATING:
        return "saturated"
    return None


def written(member: Member, case: Case) -> Place | None:
    """The line of a module's class that makes a parameter."""
    import ast

    for source, kind in case.nodes(ast.ClassDef):
        if kind.name == member.kind:
            for value in assignments(kind, member.attribute):
                return place_of(source, value)
    return None
