"""An optimizer that steps again and again over a loss that nothing goes backward from."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Evidence, Finding, Message, Step
from gradwhy.runtime.account import Place
from gradwhy.runtime.audit.case import Case, Held, at, place_of
from gradwhy.runtime.audit.ledger import Step as Update
from gradwhy.runtime.node_lines import Made
from gradwhy.runtime.sites import Site
from gradwhy.source.slicing import called

RANK = 12
CAUSE = "backward-missing"
_GIVES_THE_LOSS = "training_step"


def find(case: Case) -> Iterable[Finding]:
    if case.ledger.passes:
        return
    for held in case.optimizers:
        accounts = [account for account in case.accounts(held.number) if account.key in held.ids]
        steps = [step for step in case.ledger.steps if step.optimizer == held.number and step.chain]
        if not accounts or not all(a.steps > 1 and a.always("none") for a in accounts) or not _computes(steps):
            continue
        ids = {member.key for member in case.members(a.key for a in accounts) if member.requires_grad}
        made = case.watch.recorder.nodes.last_made(steps[-1].number)
        if ids and made is not None:
            case.claimed |= ids
            yield _told(held, ids, steps[-1], made, case)


def _computes(steps: list[Update]) -> bool:
    """Whether a graph was made before each step."""
    return len(steps) > 1 and all(one.number < other.number for one, other in zip(steps, steps[1:]))


def _told(held: Held, ids: set[int], step: Update, made: Made, case: Case) -> Finding:
    loss = at(made.site)
    given = _given(made) if step.host else None
    direct = called(step.chain[0].node()) == "step"
    # Where a trainer steps, the user's line is the one that gives it the loss.
    place = at(step.chain[0]) if direct else given or loss
    facts: dict[str, Argument] = {
        "subject": Code(place.text if direct else f"{held.kind}.step()"),
        "name": Code(loss.text),
        "count": len(ids),
    }
    named = case.named_only("backward")
    if named is not None:
        place = named
        facts["subject"] = Code(named.text)
    seen = {"gradients": 0, "requires_grad": True, "parameters": len(ids)}
    return case.finding(
        CAUSE,
        "silent-none-grad",
        place,
        facts=facts,
        key="uncalled" if named is not None else "source",
        advice=f"advice-{step.host}" if step.host and not direct and named is None else None,
        steps=[Step(at=loss.at, after="tracked", note=Message(f"{CAUSE}.made"))],
        evidence=[Evidence(kind="parameter", subject=case.owner(ids) or "parameters", facts=seen)],
        # That nothing went backward was seen; which line should have given the loss was not.
        certain=direct or given is not None or named is not None,
        surfaces=step.chain[0],
    )


def _given(made: Made) -> Place | None:
    """What the function returns that a trainer asks for the loss, where that is one statement."""
    site: Site | None = next((s for s in (made.site, *made.chain) if s.code.co_name == _GIVES_THE_LOSS), None)
    source = site.source if site is not None else None
    node = site.node() if site is not None else None
    scope = source.function(node) if source is not None and node is not None else None
    if source is None or scope is None:
        return None
    returned = [each for each in ast.walk(scope) if isinstance(each, ast.Return)]
    return place_of(source, returned[0]) if len(returned) == 1 else None
