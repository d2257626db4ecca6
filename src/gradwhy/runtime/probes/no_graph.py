"""``element 0 of tensors does not require grad and does not have a grad_fn``: where the path to the loss was lost."""

from __future__ import annotations

import re
from functools import partial

from torch.nn import Parameter

from gradwhy.findings import Finding
from gradwhy.runtime import elsewhere, remedying
from gradwhy.runtime.explanation import Explanation, Loss
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.origins import all_origins
from gradwhy.runtime.probes import Situation, input_no_grad
from gradwhy.runtime.reviews import all_reviews
from gradwhy.runtime.telling import tell

SYMPTOM = "no-graph"
_MESSAGE = re.compile(r"element (\d+) of tensors does not require grad and does not have a grad_fn")


def matches(failure: Failure) -> bool:
    return isinstance(failure.error, RuntimeError) and _MESSAGE.search(failure.text) is not None


def diagnose(situation: Situation) -> list[Finding]:
    """The best explanation first; what is as true but explains less comes with it as ``related``."""
    found = _MESSAGE.search(situation.failure.text)
    surface = situation.failure.surface or situation.failure.entry
    tensors = situation.failure.differentiated() or []
    index = int(found[1]) if found else 0
    if surface is None or index >= len(tensors):
        return []
    loss = Loss.of(tensors[index], index, surface, situation)
    ranked = explanations(loss, situation)
    if not ranked and loss.record is None and surface.is_users:
        # Nothing was on record. Where the whole ancestry is known and explains nothing, a guess would be a wrong line.
        if found_in_source := list(situation.each(partial(elsewhere.read, loss, SYMPTOM))):
            return found_in_source
        ranked = elsewhere.explain(loss, situation)
    if not ranked:
        return []
    if ranked[0].cause == "frozen-all" and any(type(each) is not Parameter for each in situation.failure.wanted()):
        # A frozen model is right where the gradient of its input is asked for: the input lacks the flag, or its path is cut.
        asked = [each for each in input_no_grad.of_inputs(situation, SYMPTOM) if each.cause == "requires_grad-missing"]
        if asked:
            return asked
        ranked = sorted(ranked, key=lambda each: each.cause == "frozen-all")
    remarks = [finding for each in all_reviews() for finding in situation.each(partial(each.review, situation))]
    fixes = remedying.fixes(ranked[0], situation)
    return [tell(ranked[0], ranked[1:], remarks, fixes, loss, situation, SYMPTOM)]


def explanations(loss: Loss, situation: Situation) -> list[Explanation]:
    """What the record supports, the best first: what would bring back the gradient of something that an optimizer
    holds, then what was seen, then what is nearest to the failing call."""
    found = [e for origin in all_origins() for e in situation.each(partial(origin.explain, loss, situation))]
    trains = any(explanation.trains for explanation in found)
    return sorted(found, key=lambda e: (trains and not e.trains, not e.certain, e.weight, e.distance))
