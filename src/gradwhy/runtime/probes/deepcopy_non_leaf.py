"""A copy or pickle that meets a computed tensor: which one, by name, and the line that computed it."""

from __future__ import annotations

from typing import Any

import torch

from gradwhy.findings import Argument, Code, Finding, Message, Step
from gradwhy.runtime import account
from gradwhy.runtime.account import Place
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.lifetime import made
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.records import node_of

SYMPTOM = "deepcopy-non-leaf"
CAUSE = "computed-tensor-kept"
_MESSAGES = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol",
    "Cowardly refusing to serialize non-leaf tensor which requires_grad",
    "__setstate__ can be only called on leaf Tensors",
)


def matches(failure: Failure) -> bool:
    return isinstance(failure.error, RuntimeError) and failure.text.startswith(_MESSAGES)


def diagnose(situation: Situation) -> list[Finding]:
    surface = situation.failure.surface
    tensor = _refused(situation.failure)
    if surface is None or tensor is None:
        return []
    name = next((name for name, held in situation.names.tensors() if held is tensor), "")
    node = node_of(tensor)
    origin = made(node, situation.watch.recorder) if node is not None else None
    facts: dict[str, Argument] = {"name": Code(name or "a tensor in it")}
    kept = account.assignment(f"self.{name.rpartition('.')[2]}", surface.site) if "." in name else None
    place = kept or (Place.of(origin.outside_forward()) if origin is not None else Place.of(surface.site))
    if origin is not None and kept is None and any("." in bound for bound in account.names_bound(origin.site)):
        place = Place.of(origin.site)
    steps = []
    if origin is not None:
        steps.append(account.station(origin.site, Message(f"{CAUSE}.made", facts)))
    if kept is not None:
        steps.append(Step(at=kept.at, note=Message(f"{CAUSE}.kept", facts)))
    return [
        account.finding(
            situation,
            SYMPTOM,
            CAUSE,
            place.at,
            place.text,
            facts=facts,
            steps=steps,
            evidence=[account.seen(name, tensor, is_leaf=False)],
        )
    ]


def _refused(failure: Failure) -> Any:
    """The tensor whose copy was refused: ``self`` or ``x`` of the innermost frame (torch/_tensor.py, copy.py)."""
    for live in reversed(failure.frames):
        for key in ("self", "x", "tensor", "obj"):
            held = live.frame.f_locals.get(key)
            if isinstance(held, torch.Tensor) and not held.is_leaf:
                return held
    return None
