"""A frozen part whose batch-norm layers go on collecting statistics: freezing keeps the weights, not the buffers."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Evidence, Finding, Message, Step
from gradwhy.runtime.audit.case import Case, at
from gradwhy.runtime.audit.modules import Sensitive
from gradwhy.runtime.sites import Site

RANK = 45
CAUSE = "frozen-part"


def find(case: Case) -> Iterable[Finding]:
    groups: dict[Site, list[Sensitive]] = {}
    for module in case.inspection.sensitive.values():
        moving = len(module.counts) > 1 and module.counts[-1] > module.counts[0]
        if not (module.frozen and module.training and moving and module.parameters):
            continue
        froze = [c for c in case.watch.journal.flags.values() if not c.value and c.tensors.keys() & module.parameters]
        if not froze or not any(h.ids for h in case.optimizers):
            # Frozen from the start, or nothing trains beside it.
            continue
        frozen_at = max(froze, key=lambda change: change.order)
        switches = [
            e for e in case.ledger.events if e.kind == "train" and module.key in e.ids and e.order > frozen_at.order
        ]
        site = switches[-1].chain[0] if switches and switches[-1].chain else frozen_at.chain[0]
        groups.setdefault(site, []).append(module)
    for site, modules in groups.items():
        facts: dict[str, Argument] = {"name": Code(modules[0].name), "count": len(modules)}
        froze = [
            c for c in case.watch.journal.flags.values() if not c.value and c.tensors.keys() & modules[0].parameters
        ]
        if part := _frozen_part(modules, case):
            earlier = [e for e in case.ledger.events if e.kind == "train" and e.chain and e.order < froze[-1].order]
            facts |= {"part": Code(part), "shared": any(e.chain[0] == site for e in earlier)}
        steps = [Step(at=froze[-1].chain[0].location(), note=Message(f"{CAUSE}.froze"))]
        if site != froze[-1].chain[0]:
            steps.append(Step(at=site.location(), note=Message(f"{CAUSE}.switched", facts)))
        seen = {"batches": modules[0].counts[-1] - modules[0].counts[0], "requires_grad": False, "training": True}
        yield case.finding(
            CAUSE, "silent-eval-mode", at(site), facts=facts, key="statistics", steps=steps, severity="warning",
            evidence=[Evidence(kind="parameter", subject=modules[0].name, facts=seen)],
        )  # fmt: skip


def _frozen_part(modules: list[Sensitive], case: Case) -> str:
    """The largest part of the model that has all these layers and nothing that trains; "" where they have none in common."""
    paths = [module.name.split(".") for module in modules]
    common = paths[0]
    while common and any(path[: len(common)] != common for path in paths):
        common = common[:-1]
    largest = ""
    while len(common) > len(modules[0].root.split(".")):
        name = ".".join(common)
        if any(m.requires_grad for m in case.roster.members.values() if m.name.startswith(f"{name}.")):
            break
        largest, common = name, common[:-1]
    return largest
