"""Training that goes on in evaluation mode: an evaluation in between switched the model and nothing switched it back."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Finding, Message, Step
from gradwhy.runtime.audit.case import Case, at
from gradwhy.runtime.audit.ledger import Event, Pass

RANK = 40
CAUSE = "eval-decorated"


def find(case: Case) -> Iterable[Finding]:
    sensitive = case.inspection.sensitive
    told: set[object] = set()
    for module in sensitive.values():
        modes = [e for e in case.ledger.events if e.kind in ("train", "eval") and module.key in e.ids]
        leaves = {m.key for m in case.roster.members.values() if m.root == module.root or m.module == module.name}
        passes = [p for p in case.passes_to(leaves) if p.used or p.inside_step]
        for event in (e for e in modes if e.kind == "eval"):
            until = next((e.order for e in modes if e.order > event.order and e.kind == "train"), 1 << 62)
            after = [p for p in passes if event.order < p.order < until]
            if len(after) < 2 or event.chain[:1] in told:
                continue
            before = [p for p in passes if p.order < event.order and _mode_at(p, modes) == "train"]
            again = [p for p in after if any(p.chain == earlier.chain for earlier in before)]
            if len(again) < 2 or not event.chain:
                continue
            told.add(event.chain[:1])
            facts: dict[str, Argument] = {
                "name": Code(module.root), "count": len(again), "kind": Code(module.kind), "layer": Code(module.name)
            }  # fmt: skip
            steps = [
                Step(at=event.chain[0].location(), note=Message(f"{CAUSE}.switched", facts)),
                Step(at=again[-1].chain[0].location(), note=Message(f"{CAUSE}.trained", facts)),
            ]
            yield case.finding(
                CAUSE, "silent-eval-mode", at(event.chain[0]), facts=facts, steps=steps, severity="warning",
                surfaces=again[-1].chain[0],
            )  # fmt: skip


def _mode_at(each: Pass, modes: list[Event]) -> str:
    """The mode that a module was in: as it was last switched; training where nobody has switched it."""
    return next((e.kind for e in reversed(modes) if e.order < each.order), "train")
