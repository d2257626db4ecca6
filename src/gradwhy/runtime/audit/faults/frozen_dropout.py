"""A frozen part whose dropout goes on: a remark, since many keep it on purpose."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Finding
from gradwhy.runtime.audit.case import Case, at

RANK = 60
CAUSE = "frozen-part"


def find(case: Case) -> Iterable[Finding]:
    for module in case.inspection.sensitive.values():
        if "Dropout" not in module.kind or not module.training:
            continue
        part = module.name.rpartition(".")[0]
        beside = [m for m in case.roster.members.values() if m.name.startswith(f"{part}.")]
        if part in ("", module.root) or not beside or any(m.requires_grad for m in beside):
            continue
        switches = [e for e in case.ledger.events if e.kind == "train" and module.key in e.ids and e.chain]
        frozen = {m.key for m in beside}
        # What a package freezes under its adapters is meant to work as it did.
        froze = [
            c
            for c in case.watch.journal.flags.values()
            if not c.value and c.chain and c.tensors.keys() & frozen and not c.stacks(frozen)
        ]
        if not froze:
            continue
        site = switches[-1].chain[0] if switches else froze[-1].chain[0]
        facts: dict[str, Argument] = {"name": Code(module.name), "part": Code(part)}
        yield case.finding(CAUSE, "silent-eval-mode", at(site), facts=facts, key="dropout", severity="note")
        return
