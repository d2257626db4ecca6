"""Frozen parameters that an optimizer moves all the same: it still has gradients of zeros for them, and momentum or decay."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Evidence, Finding, Message, Step
from gradwhy.runtime.audit.case import Case, at

RANK = 34
CAUSE = "frozen-part"


def find(case: Case) -> Iterable[Finding]:
    for held in case.optimizers:
        moved = {a.key for a in case.accounts(held.number) if a.frozen_changed > 1}
        froze = [c for c in case.watch.journal.flags.values() if not c.value and c.chain and c.tensors.keys() & moved]
        if not froze or not held.chain:
            continue
        last = max(froze, key=lambda change: change.order)
        ids = moved & last.tensors.keys()
        options = next((held.options[key] for key in ids if key in held.options), {})
        facts: dict[str, Argument] = {"name": Code(case.owner(ids)), "count": len(ids), "optimizer": held.kind}
        seen = {name: float(options.get(name) or 0.0) for name in ("momentum", "weight_decay") if name in options}
        yield case.finding(
            CAUSE, "silent-not-frozen", at(last.chain[0]), facts=facts, key="moves", severity="warning",
            steps=[
                Step(at=last.chain[0].location(), note=Message(f"{CAUSE}.froze-here", facts)),
                Step(at=held.chain[0].location(), note=Message(f"{CAUSE}.moves", facts)),
            ],
            evidence=[Evidence(kind="optimizer", subject=held.kind, facts=seen)],
        )  # fmt: skip
