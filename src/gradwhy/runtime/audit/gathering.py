"""From the ledger to the report: the case of one audit, its findings in order, and the table of parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gradwhy.findings import Finding, Message, Parameter, Report
from gradwhy.runtime.audit.case import Case
from gradwhy.runtime.audit.faults import Fault, all_faults
from gradwhy.runtime.audit.ledger import Account
from gradwhy.static import remedy

if TYPE_CHECKING:
    from gradwhy.runtime.audit.observer import Observer

_SEVERITY = {"error": 0, "warning": 1, "note": 2}


def findings(case: Case) -> list[Finding]:
    """The findings of all faults. One that breaks is noted and does not silence the others."""
    recorder = case.watch.recorder
    loaded: list[Fault] = []
    for load in all_faults():
        try:
            loaded.append(load())
        except Exception as trouble:
            recorder.note_fault(trouble)
    found: list[tuple[int, Finding]] = []
    for fault in sorted(loaded, key=lambda each: each.RANK):
        try:
            found += [(fault.RANK, finding) for finding in fault.find(case)]
        except Exception as trouble:
            recorder.note_fault(trouble)
    found.sort(key=lambda pair: (_SEVERITY[pair[1].severity], pair[1].certainty != "proven", pair[0]))
    return [finding for _, finding in found]


def joined(report: Report, observer: Observer) -> Report:
    """The report of the run, with what the audit adds: findings, the table, and what was examined."""
    case = observer.case()
    told = {(finding.at.file, finding.at.line) for finding in report.findings}
    if any(f.symptom == "silent-leaf-loss" for f in report.findings):
        # The loss never had a path: that no parameter has a gradient follows from it.
        case.claimed |= {key for held in case.optimizers for key in held.ids}
    own = [remedy.completed(f) for f in findings(case) if (f.at.file, f.at.line) not in told]
    loud = [f for f in report.findings if f.severity == "error"]
    rest = [f for f in report.findings if f.severity != "error"]
    everything = sorted([*own, *rest], key=lambda f: _SEVERITY[f.severity])
    table = rows(case)
    examined = {
        **report.examined,
        "parameters": max(len(table), report.examined.get("parameters", 0)),
        "passes": len(case.ledger.passes),
        "steps": sum(case.ledger.updates.values()) or report.examined.get("steps", 0),
        **_taken_as_intended(table, case),
    }
    notes = tuple(
        Message("words.own-fault", {"error": f"{type(t).__name__}: {t}"}) for t in case.watch.recorder.faults[:1]
    )
    return replace(
        report,
        findings=(*loud, *everything),
        examined=examined,
        parameters=tuple(table),
        notes=tuple(dict.fromkeys((*report.notes, *notes))),
    )


def _taken_as_intended(table: list[Parameter], case: Case) -> dict[str, int]:
    """How many parameters do not train and were told of by no finding: what was taken as meant."""
    told = {case.roster.name(key) for key in case.claimed}
    quiet = [row for row in table if row.name not in told]
    return {
        "frozen": sum(not row.requires_grad for row in quiet),
        "unused": sum(row.requires_grad and not row.passes for row in quiet),
        "in_no_optimizer": sum(row.requires_grad and bool(row.passes) and not row.group for row in quiet),
    }


def rows(case: Case) -> list[Parameter]:
    """One row a parameter, in the order of their names."""
    table: list[Parameter] = []
    for member in case.roster.members.values():
        held = case.held_by(member.key)
        if not member.is_parameter and not held:
            continue
        if not member.alive and not held:
            continue
        last = held[-1] if held else None
        known = case.ledger.accounts.get((last.number, member.key)) if last is not None else None
        account = known or Account(member.key)
        group = (
            f"{last.kind}[{last.options[member.key]['group']}]"
            if last is not None and member.key in last.options
            else ""
        )
        table.append(
            Parameter(
                name=member.name or f"{last.kind if last else ''} parameter",
                module=member.module,
                shape=member.shape,
                requires_grad=member.requires_grad,
                group=group,
                gradient=account.state,
                norm=account.norm,
                compared=account.compared,
                changed=account.changed,
                relative=account.relative,
                steps=account.steps,
                without=account.counts.get("none", 0),
                passes=case.ledger.reached.get(member.key, 0),
            )
        )
    return table
