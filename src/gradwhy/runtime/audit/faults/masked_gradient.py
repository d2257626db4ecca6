"""Values whose gradient the program sets to zero, and that the optimizer moves all the same: by weight decay or momentum."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Argument, Evidence, Finding, Message, Step
from gradwhy.runtime.audit.case import Case, at

RANK = 35
CAUSE = "masked-gradient-moved"


def find(case: Case) -> Iterable[Finding]:
    for (number, site), ids in case.masks.moved.items():
        held = next((h for h in case.optimizers if h.number == number), None)
        if held is None or not held.chain or case.masks.times[number, site] < 2:
            continue
        options = next((held.options[key] for key in ids if key in held.options), {})
        decays = bool(options.get("weight_decay"))
        facts: dict[str, Argument] = {
            "name": case.called(ids),
            "count": len(ids),
            "optimizer": held.kind,
            "decay": float(options.get("weight_decay") or 0.0),
        }
        steps = [
            Step(at=held.chain[0].location(), note=Message(f"{CAUSE}.moves", facts)),
            Step(at=site.location(), note=Message(f"{CAUSE}.masked", facts)),
        ]
        seen = {
            "weight_decay": float(options.get("weight_decay") or 0.0),
            "momentum": float(options.get("momentum") or 0.0),
        }
        yield case.finding(
            CAUSE, "silent-zero-grad", at(held.chain[0]), facts=facts, key="decay" if decays else "", steps=steps,
            evidence=[Evidence(kind="optimizer", subject=held.kind, facts=seen)], severity="warning",
        )  # fmt: skip
