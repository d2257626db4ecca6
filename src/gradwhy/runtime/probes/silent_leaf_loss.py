"""``backward()`` on a value that was computed without a path and then marked as requiring grad: it ends where it starts."""

from __future__ import annotations

from dataclasses import replace
from types import FrameType
from typing import Any

from gradwhy.findings import Finding, Message
from gradwhy.runtime import remedying
from gradwhy.runtime.explanation import Explanation, Loss
from gradwhy.runtime.failure import Failure, standing
from gradwhy.runtime.names import Names
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.probes.no_graph import explanations
from gradwhy.runtime.records import Record
from gradwhy.runtime.telling import finding_of, tell
from gradwhy.runtime.watch import Watch

SYMPTOM = "silent-leaf-loss"
CAUSE = "requires-grad-on-loss"
# A leaf explains these by itself.
_OF_A_LEAF = frozenset({"module-unused", "requires_grad-missing", "requires-grad-late"})


def matches(failure: Failure) -> bool:
    """Nothing is raised: the recorder calls ``look`` when it sees such a ``backward``."""
    return False


def diagnose(situation: Situation) -> list[Finding]:
    return []


def look(tensor: Any, record: Record, frame: FrameType, watch: Watch) -> list[Finding]:
    """What cut the path comes first; the flag that hid it follows from that. A plain leaf is no fault."""
    with standing(frame) as failure:
        return _look(tensor, record, Situation(failure, watch, Names(failure.frames)))


def _look(tensor: Any, record: Record, situation: Situation) -> list[Finding]:
    surface = situation.failure.surface
    if surface is None:
        return []
    loss = Loss.of(tensor, 0, surface, situation, record)
    causes = [e for e in explanations(loss, situation) if e.cause not in _OF_A_LEAF]
    if not causes and not record.parents:
        return []
    found: list[Finding] = []
    if causes:
        found.append(tell(causes[0], causes[1:], [], remedying.fixes(causes[0], situation), loss, situation, SYMPTOM))
    flagged = record.flagged or record.site
    if flagged is not None:
        explanation = Explanation(
            cause=CAUSE,
            at=flagged.location(),
            subject=flagged.expression(),
            certain=True,
            trains=True,
            distance=0,
            site=flagged,
            steps=((flagged.location(), Message(f"{CAUSE}.flagged")),),
        )
        fixes = remedying.fixes(explanation, situation)
        finding = finding_of(explanation, loss, situation, SYMPTOM, fixes=fixes)
        found.append(replace(finding, because_of=found[0].fingerprint if found else None))
    return found
