"""``Can't call numpy() on Tensor that requires grad``: the tensor, and what calls for numbers."""

from __future__ import annotations

from gradwhy.findings import Argument, Code, Finding, Message, Step
from gradwhy.runtime import account, live
from gradwhy.runtime.account import Place
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.lifetime import made
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.records import node_of

SYMPTOM = "numpy-requires-grad"
CAUSE = "numpy-roundtrip"
_MESSAGES = (
    "Can't call numpy() on Tensor that requires grad",
    "Can't call apply_() on Variable that requires grad",
    "Can't call map_() on Variable that requires grad",
    "Can't call map2_() on Variable that requires grad",
    "Can't export tensors that require gradient",
)


def matches(failure: Failure) -> bool:
    return failure.text.startswith(_MESSAGES)


def diagnose(situation: Situation) -> list[Finding]:
    surface = situation.failure.surface
    if surface is None:
        return []
    place = Place.of(surface.site)
    found = next(((name, t) for name, t in live.operands(surface) if t.requires_grad), None)
    tensor = (
        found[1]
        if found is not None
        else next((t for t in live.library_tensors(situation.failure) if t.requires_grad), None)
    )
    name = found[0] if found is not None else account.receiver(surface.site) or "the tensor"
    place = account.handed_over(name, situation) or place
    facts: dict[str, Argument] = {"name": Code(name)}
    steps, evidence = [], []
    node = node_of(tensor) if tensor is not None else None
    origin = made(node, situation.watch.recorder) if node is not None else None
    if origin is not None and origin.site != surface.site:
        steps.append(account.station(origin.site, Message(f"{CAUSE}.tracked", facts)))
    if tensor is not None:
        evidence.append(account.seen(name, tensor))
    steps.append(Step(at=surface.site.location(), note=Message(f"{CAUSE}.asked", facts)))
    return [
        account.finding(
            situation,
            SYMPTOM,
            CAUSE,
            place.at,
            place.text,
            headline="headline-refused",
            advice="advice-refused",
            facts=facts,
            steps=steps,
            evidence=evidence,
        )
    ]
