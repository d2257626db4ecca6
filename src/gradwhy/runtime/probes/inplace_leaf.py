"""``a leaf Variable that requires grad is being used in an in-place operation``: which leaf, and the write."""

from __future__ import annotations

from gradwhy.findings import Argument, Code, Evidence, Finding, Message, Step
from gradwhy.runtime import account
from gradwhy.runtime.account import Place
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.writing import switched_on, target

SYMPTOM = "inplace-leaf"
_MESSAGES = (
    "a leaf Variable that requires grad is being used in an in-place operation",
    "a view of a leaf Variable that requires grad is being used in an in-place operation",
    "a leaf Variable that requires grad has been used in an in-place operation",
    "leaf variable has been moved into the graph interior",
)


def matches(failure: Failure) -> bool:
    # Dynamo passes these words on, and where it stands is not where the write is: the probe for compiled code reads that.
    dynamos = type(failure.error).__module__.startswith("torch._dynamo")
    return isinstance(failure.error, RuntimeError) and not dynamos and any(text in failure.text for text in _MESSAGES)


def diagnose(situation: Situation) -> list[Finding]:
    surface = situation.failure.surface
    if surface is None:
        return []
    place = switched_on(surface) or Place.of(surface.site)
    written = target(surface, situation)
    name, tensor = written if written is not None else (account.receiver(surface.site), None)
    evidence: list[Evidence] = []
    if tensor is not None:
        base = tensor if tensor._base is None else tensor._base
        own = situation.names.parameters.get(id(base))
        name = own if own is not None and not name.startswith(own) else name
        facts = {"requires_grad": base.requires_grad, "shape": account.shape_of(base), "is_leaf": base.is_leaf}
        evidence.append(Evidence(kind="parameter" if own else "tensor", subject=own or name, facts=facts))
    said: dict[str, Argument] = {"name": Code(name or "the tensor")}
    step = Step(at=surface.site.location(), note=Message("inplace-op.written-leaf"))
    return [
        account.finding(
            situation,
            SYMPTOM,
            "inplace-op",
            place.at,
            place.text,
            headline="headline-leaf",
            advice="advice-leaf",
            facts=said,
            steps=[step],
            evidence=evidence,
        )
    ]
