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
    roots: dict[str, set[int]] = {}
    for module in sensitive.values():
        roots.setdefault(module.root, set()).add(module.key)
    for module in sensitive.values():
        modes = [e for e in case.ledger.events if e.kind in ("train", "eval") and module.key in e.ids]
        leaves = {m.key for m in case.roster.members.values() if m.root == module.root or m.module == module.name}
        passes = [p for p in case.passes_to(leaves) if p.used or p.inside_step]
        for event in (e for e in modes if e.kind == "eval"):
            until = next((e.order for e in modes if e.order > event.order and e.kind == "train"), 1 << 62)
            after = [p for p in passes if event.order < p.order < until]
            # A part that is put into evaluation mode by itself is meant to be.
            if len(after) < 2 or event.chain[:1] in told or not roots[module.root] <= event.ids:
                continue
            if _meant(event, modes):
                continue
            before = [p for p in passes if p.order < event.order and _mode_at(p, modes) == "train"]
            again = [p for p in after if any(p.chain == earlier.chain for earlier in before)]
            if not before and _by_a_helper(event, after, modes):
                again = after
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


def _meant(event: Event, modes: list[Event]) -> bool:
    """Whether the same code had just switched more than this part to training: an override of ``train()`` does so."""
    last = next((e for e in reversed(modes) if e.order < event.order), None)
    if last is None or last.kind != "train" or not last.chain or not event.chain:
        return False
    return last.chain[0].code is event.chain[0].code and last.ids > event.ids


def _by_a_helper(event: Event, passes: list[Pass], modes: list[Event]) -> bool:
    """Whether training mode had been asked for, and a function that goes backward nowhere has switched it off."""
    asked = any(e.kind == "train" and e.order < event.order for e in modes)
    training = {site.code for each in passes for site in each.chain}
    return asked and bool(event.chain) and event.chain[0].code not in training


def _mode_at(each: Pass, modes: list[Event]) -> str:
    """The mode that a module was in: as it was last switched; training where nobody has switched it."""
    return next((e.kind for e in reversed(modes) if e.order < each.order), "train")
