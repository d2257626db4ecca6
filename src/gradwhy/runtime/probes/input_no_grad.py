"""``One of the differentiated Tensors does not require grad``: which entry of ``inputs``, and why it has no gradient."""

from __future__ import annotations

import ast

import torch

from gradwhy.findings import Argument, Code, Finding, Message, Step
from gradwhy.runtime import account, live, untracked
from gradwhy.runtime.account import Place
from gradwhy.runtime.entries import Entry, entries
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.records import Record

SYMPTOM = "input-no-grad"
_MESSAGES = (
    "One of the differentiated Tensors does not require grad",
    "can't retain_grad on Tensor that has requires_grad=False",
)


def matches(failure: Failure) -> bool:
    return isinstance(failure.error, RuntimeError) and failure.text.startswith(_MESSAGES)


def diagnose(situation: Situation) -> list[Finding]:
    return of_inputs(situation) or _retained(situation)


def of_inputs(situation: Situation, symptom: str = SYMPTOM) -> list[Finding]:
    """The first tensor without a gradient that the call asked for the gradient of."""
    plain = [entry for entry in entries(situation) if not getattr(entry.tensor, "requires_grad", True)]
    return [_finding(plain[0], len(plain), situation, symptom)] if plain else []


def _retained(situation: Situation) -> list[Finding]:
    """``retain_grad()`` of a tensor without a path, which may have no name."""
    surface = situation.failure.surface
    call = account.call_at(surface.site) if surface is not None else None
    if surface is None or call is None or not isinstance(call.func, ast.Attribute):
        return []
    at, name = account.place_of(surface.site, call.func.value), account.receiver(surface.site)
    held = live.value(call.func.value, surface)
    if at is None:
        return []
    if issubclass(type(held), torch.Tensor):
        return [_finding(Entry(0, held, name, at, 1), 1, situation)]
    facts: dict[str, Argument] = {"name": Code(name)}
    return [
        account.finding(
            situation,
            SYMPTOM,
            "requires_grad-missing",
            at,
            name,
            facts=facts,
            headline="headline-entry",
            advice="advice-entry",
        )
    ]


def _finding(entry: Entry, plain: int, situation: Situation, symptom: str = SYMPTOM) -> Finding:
    facts = entry.facts() | {"count": plain}
    record = situation.watch.recorder.record_of(entry.tensor)
    asked = Step(at=entry.at, note=Message(f"{SYMPTOM}.asked", facts))
    made = (
        account.station(record.site, Message(f"{SYMPTOM}.made", facts)) if record is not None and record.site else None
    )
    change = untracked.froze(entry.tensor, situation)
    why = untracked.reason(entry.tensor, situation)
    steps: list[Step] = []
    key = "entry"
    if change is not None or isinstance(entry.tensor, torch.nn.Parameter):
        cause, certain, key = "frozen-part", True, "frozen"
        place = account.binding(account.written(entry.at), situation) or Place(entry.at, entry.text)
        if change is not None:
            steps = [account.station(change.chain[0], Message(f"{SYMPTOM}.frozen", {"count": change.parameters}))]
    elif why is not None:
        cause, place, certain = why.cause, why.place, why.certain
        steps = [Step(at=why.opened, note=Message(f"{cause}.opened"))] if why.opened is not None else []
        steps += [made] if made is not None else []
    else:
        cause = "requires_grad-missing" if _can_require_grad(entry) else "wrong-list-entry"
        place, certain = _origin(entry, record, situation), record is not None
        steps = [Step(at=place.at, note=Message(f"{SYMPTOM}.made", facts))]
    return account.finding(
        situation,
        symptom,
        cause,
        place.at,
        place.text,
        headline=f"headline-{key}",
        advice=f"advice-{key}",
        facts=facts,
        steps=[*steps, asked],
        evidence=[account.seen(entry.text, entry.tensor)],
        certain=certain,
    )


def _can_require_grad(entry: Entry) -> bool:
    return bool(entry.tensor.is_floating_point() or entry.tensor.is_complex())


def _origin(entry: Entry, record: Record | None, situation: Situation) -> Place:
    """Where a plain entry was made, or given its name."""
    if record is not None and record.site is not None:
        return Place.of(record.site)
    return account.binding(entry.text, situation) or Place(entry.at, entry.text)
