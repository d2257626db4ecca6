"""Parameters of an optimizer that no backward pass ever reached: what lost their path, or what left them out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradwhy.findings import Argument, Code, Evidence, Finding, Message, Step
from gradwhy.runtime import feeding
from gradwhy.runtime.account import Place
from gradwhy.runtime.audit.case import Case, Held, at
from gradwhy.runtime.audit.faults.zero_grad import returned
from gradwhy.runtime.audit.ledger import Lost, Pass

RANK = 20
_NONE = "silent-none-grad"
_BRANCH = "silent-detached-branch"


def find(case: Case) -> Iterable[Finding]:
    for held in case.optimizers:
        idle = {a.key for a in case.accounts(held.number) if a.steps > 1 and a.always("none") and a.key in held.ids}
        idle = {member.key for member in case.members(idle) if member.requires_grad} - case.claimed
        if not idle or not any(p.accumulates for p in case.ledger.passes):
            continue
        whole = not any(a.counts.get("finite") for a in case.accounts(held.number))
        yield from _not_named(idle, case)
        yield from _cut(idle - case.claimed, whole, case)
        yield from _dropped(idle - case.claimed, whole, case)
        if not any(p.fills(key) for p in case.ledger.passes for key in idle):
            yield from _unused(idle - case.claimed, whole, held, case)


def _cut(idle: set[int], whole: bool, case: Case) -> Iterator[Finding]:
    """Those whose path was lost, grouped by the line that lost it."""
    groups: dict[tuple[str, int], tuple[Lost, set[int]]] = {}
    for key in idle:
        lost = case.ledger.lost.get(key)
        if lost is not None:
            groups.setdefault((lost.verdict.at.file, lost.verdict.at.line), (lost, set()))[1].add(key)
    for lost, ids in sorted(groups.values(), key=lambda group: (not group[0].fed, -len(group[1]))):
        verdict = lost.verdict
        if not lost.fed and verdict.scope is None and len(groups) > 1:
            continue
        facts: dict[str, Argument] = {"name": case.called(ids), "count": len(ids)}
        steps: list[Step] = []
        if verdict.site is not None and verdict.site.location().line != verdict.at.line:
            steps.append(Step(at=verdict.site.location(), note=Message("words.path-ends")))
        steps.insert(0, Step(at=verdict.at, before="tracked", after="cut", note=Message("words.path-lost", facts)))
        case.claimed |= ids
        yield case.finding(
            verdict.cause,
            _NONE if whole else _BRANCH,
            Place(verdict.at, verdict.subject),
            facts=facts | feeding.facts_of_site(verdict.site),
            headline=f"{_NONE if whole else _BRANCH}.headline",
            steps=[*steps, *_stations(lost)],
            evidence=_evidence(ids, case),
            certain=lost.fed and verdict.certain,
            severity="error" if lost.fed or verdict.scope is not None else "warning",
            surfaces=lost.step[0] if lost.step else None,
        )


def _stations(lost: Lost) -> list[Step]:
    found: list[Step] = []
    if lost.backward:
        found.append(Step(at=lost.backward[0].location(), note=Message("words.backward-elsewhere")))
    if lost.step:
        found.append(Step(at=lost.step[0].location(), note=Message("words.step-without")))
    return found


def _not_named(idle: set[int], case: Case) -> Iterator[Finding]:
    """A pass reached them, but ``inputs=`` asked for others."""
    idle = idle - case.claimed
    passes = [p for p in case.ledger.passes if p.accumulates and p.wanted is not None and p.leaves & idle]
    if not passes or any(p.fills(key) for p in case.ledger.passes for key in idle):
        return
    last: Pass = passes[-1]
    ids = set(last.leaves & idle)
    case.claimed |= ids
    if last.chain:
        facts: dict[str, Argument] = {"name": case.called(ids), "count": len(ids)}
        yield case.finding(
            "wrong-list-entry", _NONE, at(last.chain[0]), facts=facts, key="inputs", evidence=_evidence(ids, case)
        )


def _dropped(idle: set[int], whole: bool, case: Case) -> Iterator[Finding]:
    """A pass came to them, and the one custom function whose backward gives None had taken the gradient."""
    reached = {key for key in idle if any(p.fills(key) for p in case.ledger.passes)}
    places = [
        (call, index, place)
        for call in case.functions.calls.values()
        for index, wanted in enumerate(call.wanted)
        if wanted and (place := returned(call.function, case, index)) is not None and place.text == "None"
    ]
    if not reached or len(places) != 1:
        return
    call, index, place = places[0]
    facts: dict[str, Argument] = {
        "name": Code(call.function.__name__), "index": index + 1, "count": len(reached), "owner": case.called(reached)
    }  # fmt: skip
    case.claimed |= reached
    yield case.finding(
        "custom-backward-wrong", _NONE if whole else _BRANCH, place, facts=facts, key="dropped",
        steps=[Step(at=call.site.location(), note=Message("custom-backward-wrong.applied", {"function": facts["name"]}))],
        evidence=_evidence(reached, case), certain=False,
    )  # fmt: skip


def _unused(idle: set[int], whole: bool, held: Held, case: Case) -> Iterator[Finding]:
    """Nothing that was differentiated was computed from them, as far as that was seen."""
    if not idle or not held.chain:
        return
    for left in case.inspection.left_out.values():
        made = case.watch.recorder.nodes.made(left.number)
        ids = idle & left.leaves
        if ids and left.looks > 1 and made is not None:
            # It was computed each time, and nothing went backward from it.
            idle = idle - ids
            case.claimed |= ids
            yield case.finding(
                "module-unused",
                _NONE,
                at(made.site),
                facts={"name": case.called(ids), "value": Code(left.name)},
                key="output",
                evidence=_evidence(ids, case),
                certain=False,
                severity="warning" if whole else "note",
                surfaces=next((p.chain[0] for p in reversed(case.ledger.passes) if p.chain), None),
            )
    if not idle:
        return
    facts: dict[str, Argument] = {"name": case.called(idle), "count": len(idle)}
    case.claimed |= idle
    yield case.finding(
        "module-unused",
        _NONE,
        at(held.chain[0]),
        facts=facts,
        key="audit",
        evidence=_evidence(idle, case),
        certain=False,
        severity="warning" if whole else "note",
    )


def _evidence(ids: set[int], case: Case) -> list[Evidence]:
    facts = {"gradients": 0, "requires_grad": True, "parameters": len(ids)}
    return [Evidence(kind="parameter", subject=case.owner(ids) or "parameters", facts=facts)]
