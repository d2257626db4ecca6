"""Layers of the user's own that a package froze along with the network of another package that they stand on."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Evidence, Finding, Message, Step
from gradwhy.runtime.audit.case import Case, at
from gradwhy.runtime.audit.roster import Member
from gradwhy.runtime.remedying import written_stack
from gradwhy.runtime.sites import package_of
from gradwhy.torchapi import hosts

RANK = 23
CAUSE = "frozen-part"
_ADVICE = "adapter-head"


def find(case: Case) -> Iterable[Finding]:
    for change in case.watch.journal.flags.values():
        if change.value or not change.chain:
            continue
        if hosts.advice(CAUSE, map(written_stack, change.stacks(change.tensors))) != _ADVICE:
            continue
        members = [m for m in case.members(change.tensors) if m.home == "registered" and not m.requires_grad]
        own = {package_of(site.file) for stack in change.stacks(change.tensors) for site in stack}
        # Where the user wrote all of the network, or nothing of it trains, this tells nothing.
        borrowed = {m.root for m in members if _maker(m, case) not in ("", "torch", *own)}
        trains = {m.root for m in case.roster.members.values() if m.requires_grad and case.held_by(m.key)}
        drawn = {m.holder for m in members if m.root in borrowed & trains and _is_drawn(m, case)}
        new = [m for m in members if m.holder in drawn]
        if not new:
            continue
        ids = {m.key for m in new}
        facts: dict[str, Argument] = {"name": Code(case.owner(ids)), "count": len(ids)}
        yield case.finding(
            CAUSE, "silent-none-grad", at(change.chain[0]), facts=facts, key="new", advice=f"advice-{_ADVICE}",
            certain=False, severity="warning",
            steps=[
                Step(at=case.calls.built[new[0].holder].location(), note=Message(f"{CAUSE}.made", facts)),
                Step(at=change.chain[0].location(), note=Message(f"{CAUSE}.froze-here", facts)),
            ],
            evidence=[Evidence(kind="parameter", subject=case.owner(ids), facts={"requires_grad": False})],
        )  # fmt: skip
        return


def _is_drawn(member: Member, case: Case) -> bool:
    """Whether a layer of a class of the user's has the values that it was made with: nothing wrote to it since, or trained it."""
    built = case.calls.built.get(member.holder)
    as_made = built is not None and member.written is not None and member.written.site == built
    return as_made and _maker(member, case) == "" and not (member.loaded or member.passes or member.by_hand)


def _maker(member: Member, case: Case) -> str:
    """Who wrote the innermost module around a parameter that is not torch's."""
    name = member.module
    while name and case.roster.makers.get(name, "torch") == "torch":
        name = name.rpartition(".")[0]
    return case.roster.makers.get(name, "torch")
