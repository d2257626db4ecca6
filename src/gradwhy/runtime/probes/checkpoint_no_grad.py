"""A reentrant checkpoint without an input that requires grad, where the rest of the model trains on: nothing is raised."""

from __future__ import annotations

from types import FrameType
from typing import Any

from gradwhy.findings import Argument, Code, Evidence, Finding, Message
from gradwhy.runtime import account, remedying
from gradwhy.runtime.account import Place
from gradwhy.runtime.explanation import Explanation
from gradwhy.runtime.failure import Failure, standing
from gradwhy.runtime.names import Names
from gradwhy.runtime.patches.checkpointing import FrozenInput
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.watch import Watch

SYMPTOM = "checkpoint-no-grad"
CAUSE = "checkpoint-frozen-input"


def matches(failure: Failure) -> bool:
    """Where a loss lost its path altogether, ``backward`` says so and ``no_graph`` explains it; here nothing is raised."""
    return False


def diagnose(situation: Situation) -> list[Finding]:
    return []


def look(found: FrozenInput, parameters: list[Any], frame: FrameType, watch: Watch) -> list[Finding]:
    """``parameters``: those inside the checkpoint that an optimizer is about to step without a gradient."""
    with standing(frame) as failure:
        return _look(found, parameters, Situation(failure, watch, Names(failure.frames)))


def _look(found: FrozenInput, parameters: list[Any], situation: Situation) -> list[Finding]:
    place = Place.of(found.chain[0])
    names = sorted(name for p in parameters if (name := situation.names.parameters.get(id(p))))
    facts: dict[str, Argument] = {"count": len(parameters), "name": Code(names[0] if names else place.text)}
    shown = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
    explanation = Explanation(CAUSE, place.at, place.text, certain=True, trains=True, distance=0, site=found.chain[0])
    finding = account.finding(
        situation, SYMPTOM, CAUSE, place.at, place.text, headline="headline-silent", facts=facts,
        steps=[account.station(found.chain[0], Message(f"{CAUSE}.nothing", facts))],
        evidence=[Evidence(kind="parameter", subject=shown, facts={"parameters": len(parameters), "with a gradient": 0})],
        fixes=remedying.fixes(explanation, situation),
    )  # fmt: skip
    return [finding]
