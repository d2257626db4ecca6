"""``Trying to backward through the graph a second time``: the value that ties the graph to one that is used up."""

from __future__ import annotations

from gradwhy.findings import Finding
from gradwhy.runtime import graph
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.lifetime import tie
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.ties import guessed, told

SYMPTOM = "second-backward"
_MESSAGE = "Trying to backward through the graph a second time"


def matches(failure: Failure) -> bool:
    return isinstance(failure.error, RuntimeError) and _MESSAGE in failure.text


def diagnose(situation: Situation) -> list[Finding]:
    roots = situation.failure.differentiated() or []
    walk = graph.nodes(roots)
    freed = [node for node in walk if graph.is_freed(node)]
    found = tie(roots, _older(freed, situation), situation)
    if found is not None and situation.watch.recorder.operations:
        return told(found, roots, situation, SYMPTOM)
    return guessed(situation, SYMPTOM) if not situation.watch.recorder.operations else []


def _older(freed: list[object], situation: Situation) -> list[object]:
    """Those that an earlier pass can have freed: what this one came through it has freed as well."""
    upto = max((each.upto for each in situation.watch.journal.passes if not each.kept), default=None)
    older = [node for node in freed if upto is None or graph.number_of(node) <= upto]
    return older or freed
