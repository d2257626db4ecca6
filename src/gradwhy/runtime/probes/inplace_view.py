"""In-place writes to views that autograd can't follow: several views of one call, views made without gradients."""

from __future__ import annotations

import re

from gradwhy.findings import Argument, Code, Finding, Message, Step
from gradwhy.runtime import account
from gradwhy.runtime.account import Place
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.lifetime import made
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.records import node_of
from gradwhy.runtime.writing import switched_on, target

SYMPTOM = "inplace-view"
_MESSAGE = re.compile(
    r"Output \d+ of (?P<op>\w+) is a view and (?:is being|its base or another view of its base has been) modified inplace"
    r"|A view was created in (?P<mode>no_grad|inference) mode and (?:is being|its base or another view)"
)
_HOOK = "BackwardHookFunction"


def matches(failure: Failure) -> bool:
    found = _MESSAGE.search(failure.text)
    return isinstance(failure.error, RuntimeError) and found is not None and not (found["op"] or "").startswith(_HOOK)


def diagnose(situation: Situation) -> list[Finding]:
    surface = situation.failure.surface
    found = _MESSAGE.search(situation.failure.text)
    if surface is None or found is None:
        return []
    if "its base or another view of its base has been" in situation.failure.text:
        return _of_base(situation)
    place = switched_on(surface) or Place.of(surface.site)
    written = target(surface, situation)
    name, tensor = written if written is not None else (account.receiver(surface.site), None)
    facts: dict[str, Argument] = {"name": Code(name or "the view"), "op": _operation(found["op"])}
    steps: list[Step] = []
    node = node_of(tensor) if tensor is not None else None
    origin = made(node, situation.watch.recorder) if node is not None else None
    if origin is not None and origin.site != surface.site:
        steps.append(account.station(origin.site, Message("view-inplace.made", facts)))
    steps.append(Step(at=surface.site.location(), note=Message("view-inplace.written", facts)))
    evidence = []
    if tensor is not None:
        evidence.append(account.seen(name, tensor, is_view=bool(tensor._is_view())))
    key = "headline-mode" if found["mode"] else "headline"
    return [
        account.finding(
            situation,
            SYMPTOM,
            "view-inplace",
            place.at,
            place.text,
            facts=facts,
            steps=steps,
            evidence=evidence,
            headline=key,
        )
    ]


def _of_base(situation: Situation) -> list[Finding]:
    """The failing line only reads a view: the write to its base, or to another view of it, came before."""
    surface = situation.failure.surface
    if surface is None:
        return []
    from gradwhy.runtime import live

    for name, tensor in (*live.operands(surface), *(("the view", t) for t in live.library_tensors(situation.failure))):
        writes = situation.watch.recorder.writes.to(tensor, above=0) if tensor._is_view() else []
        if writes:
            facts: dict[str, Argument] = {"name": Code(name), "op": "a call"}
            site = writes[-1].site
            return [
                account.finding(
                    situation,
                    SYMPTOM,
                    "view-inplace",
                    site.location(),
                    site.expression(),
                    headline="headline-base",
                    facts=facts,
                    steps=[account.station(site, Message("view-inplace.base", facts))],
                    evidence=[account.seen(name, tensor, is_view=True)],
                )
            ]
    return []


def _operation(node: str | None) -> str:
    return re.sub(r"Backward\d*$", "", node or "").lower() or "a call"
