"""A new layer that was put into a model and frozen with the rest, by a loop that came after it."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Evidence, Finding, Message, Step
from gradwhy.runtime.audit.case import Case, at
from gradwhy.runtime.audit.roster import Member
from gradwhy.runtime.sites import Site

RANK = 21
CAUSE = "frozen-part"


def find(case: Case) -> Iterable[Finding]:
    for change in case.watch.journal.flags.values():
        if change.value or not change.chain or not _is_unconditional(change.chain[0]):
            continue
        members = [m for m in case.members(change.tensors) if m.home == "registered" and not m.requires_grad]
        new = [m for m in members if _is_new(m, case) and case.calls.registered.get(m.key, 1 << 62) < change.order]
        # Where all of them were made by hand, or nothing of the model trains, this tells nothing.
        roots = {m.root for m in members if _is_built_in(m, case)}
        new = [m for m in new if m.root in roots]
        trains = {m.root for m in case.roster.members.values() if m.requires_grad and case.held_by(m.key)}
        new = [m for m in new if m.root in trains]
        if not new:
            continue
        ids = {m.key for m in new}
        made = case.calls.built[new[0].holder]
        facts: dict[str, Argument] = {"name": Code(case.owner(ids)), "count": len(ids)}
        yield case.finding(
            CAUSE, "silent-none-grad", at(change.chain[0]), facts=facts, key="new", certain=False, severity="warning",
            steps=[
                Step(at=made.location(), note=Message(f"{CAUSE}.made", facts)),
                Step(at=change.chain[0].location(), note=Message(f"{CAUSE}.froze-here", facts)),
            ],
            evidence=[Evidence(kind="parameter", subject=case.owner(ids), facts={"requires_grad": False})],
        )  # fmt: skip
        return


def _is_new(member: Member, case: Case) -> bool:
    """Whether its layer was made by a line outside of any constructor."""
    site = case.calls.built.get(member.holder)
    return site is not None and not _in_constructor(site)


def _is_built_in(member: Member, case: Case) -> bool:
    site = case.calls.built.get(member.holder)
    return site is not None and _in_constructor(site)


def _in_constructor(site: Site) -> bool:
    return "__init__" in site.function.split(".")


def _is_unconditional(site: Site) -> bool:
    """Whether a line freezes whatever it is given: ``p.requires_grad = False`` with no condition around it."""
    source = site.source
    statement = source.statement_at(site.line) if source is not None else None
    if source is None or statement is None:
        return False
    value = statement.value if isinstance(statement, (ast.Assign, ast.Expr)) else None
    if isinstance(value, ast.Call):
        value = value.args[0] if value.args else None
    if not isinstance(value, ast.Constant) or value.value is not False:
        return False
    for outer in source.enclosing(statement):
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)):
            break
        if isinstance(outer, ast.If):
            return False
    return True
