"""Makes the finding: the path from the cut to the failing call, what was seen, and the texts' names."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from gradwhy.catalog import render
from gradwhy.findings import (
    Argument,
    Code,
    Evidence,
    Finding,
    Fix,
    GradState,
    Location,
    Message,
    Severity,
    Step,
    fingerprint,
)
from gradwhy.runtime import graph
from gradwhy.runtime.account import beginning
from gradwhy.runtime.ancestry import torch_name
from gradwhy.runtime.explanation import Explanation, Loss
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.records import Input, Record
from gradwhy.runtime.sites import Site, located
from gradwhy.source import text
from gradwhy.source.slicing import definitions, targets

# More stations than this make a path harder to read, not easier.
_STATIONS = 3
_RELATED = 4


def tell(
    best: Explanation,
    others: list[Explanation],
    remarks: list[Finding],
    fixes: tuple[Fix, ...],
    loss: Loss,
    situation: Situation,
    symptom: str,
) -> Finding:
    """The finding for the best explanation, with the other explanations and remarks as ``related``."""
    main = finding_of(best, loss, situation, symptom, fixes=fixes)
    places = {(best.at.file, best.at.line)}
    related: list[Finding] = []
    for other in others:
        place = (other.at.file, other.at.line)
        if place not in places and other.certain and other.trains and len(related) < _RELATED:
            places.add(place)
            related.append(finding_of(other, loss, situation, symptom, severity="note"))
    return replace(main, related=(*related, *remarks))


def finding_of(
    explanation: Explanation,
    loss: Loss,
    situation: Situation,
    symptom: str,
    severity: Severity = "error",
    fixes: tuple[Fix, ...] = (),
) -> Finding:
    """One explanation as a finding."""
    surface = loss.surface.site
    headline = f"{explanation.cause}.headline"
    message = Message(
        headline if render.has_sentence(headline) else f"{symptom}.headline",
        {"loss": Code(loss.name), "subject": Code(explanation.subject)},
    )
    source = text.read(explanation.at.file)
    line_text = source.line(explanation.at.line) if source is not None else ""
    return Finding(
        cause=explanation.cause,
        symptom=symptom,
        engine="runtime",
        severity=severity,
        certainty="proven" if explanation.certain else "likely",
        subject=render.one_line(explanation.subject, 200),
        at=explanation.at,
        surfaces_at=surface.location(),
        path=_path(explanation, loss, situation, symptom),
        message=message,
        evidence=(*_evidence(explanation, situation), *explanation.evidence),
        fixes=fixes,
        fingerprint=fingerprint(explanation.cause, explanation.at, line_text),
    )


def _path(explanation: Explanation, loss: Loss, situation: Situation, symptom: str) -> tuple[Step, ...]:
    steps: list[Step] = []
    if explanation.opened is not None:
        steps.append(Step(at=explanation.opened, after="off", note=Message(f"{explanation.cause}.opened")))
    steps += [
        Step(at=at, after="frozen" if explanation.cause.startswith("frozen") else "plain", note=note)
        for at, note in explanation.steps
    ]
    cut = explanation.cut
    if cut is not None:
        steps += _around_cut(explanation, cut.record, loss, situation, symptom)
        steps += _stations(cut.trail, cut.record, loss, symptom)
    elif loss.reached and loss.record is not None and (made := loss.record.site) is not None:
        steps.append(
            _station(made, torch_name(loss.record.func), Message(f"{symptom}.made", {"loss": Code(loss.name)}))
        )
        if len({(step.at.file, step.at.function) for step in steps}) == 1:
            steps.sort(key=lambda step: step.at.line)
    error = type(situation.failure.error).__name__
    facts: dict[str, Argument] = {"error": error, "text": beginning(situation.failure.text), "loss": Code(loss.name)}
    failed = Message(f"{symptom}.surfaces", facts)
    steps.append(Step(at=loss.surface.site.location(), op="torch.autograd.backward", note=failed))
    places = {(step.at.file, step.at.line) for step in steps}
    if (explanation.at.file, explanation.at.line) not in places:
        before = 1 + next((i for i, step in enumerate(steps) if step.after in ("cut", "off")), len(steps) - 2)
        steps.insert(before, Step(at=explanation.at, before="cut", after="cut", note=Message(f"{symptom}.called")))
    return tuple(_each_line_once(steps))


def _around_cut(explanation: Explanation, record: Record, loss: Loss, situation: Situation, symptom: str) -> list[Step]:
    steps: list[Step] = []
    site = record.site
    before = next((i for i in record.inputs if i.sequence >= 0), None)
    if before is not None and (known := situation.watch.recorder.nodes.lines.get(before.sequence)) is not None:
        func, code, lasti = known
        made = Site(code, lasti)
        if site is None or (made.file, made.line) != (site.file, site.line):
            note = _tracked(before, situation, symptom)
            place = _bound_nearby(site, record) or made.location()
            steps.append(Step(at=place, op=torch_name(func), before="tracked", after="tracked", note=note))
    if site is not None:
        row_note = Message(
            f"{explanation.cause}.cut",
            {"op": torch_name(record.func).rpartition(".")[2], "because": explanation.because},
        )
        state: GradState = "off" if record.grad_off else "cut"
        site = _inside_scope(record) or site
        steps.append(Step(at=site.location(), op=torch_name(record.func), before="tracked", after=state, note=row_note))
    return steps


def _inside_scope(record: Record) -> Site | None:
    """The line inside the block, or the decorated function, that the cut happened under: nearer than a line in a module."""
    scope = record.scope
    if scope is None:
        return None
    codes = [scope.decorated, scope.opener.code if scope.opener is not None else None]
    return next((site for code in codes for site in record.chain if site.code is code), None)


def _bound_nearby(site: Site | None, record: Record) -> Location | None:
    """The line of the cut's own function that bound its input's name: nearer to the reader than a line in a module."""
    source, node = (site.source, site.node()) if site is not None else (None, None)
    if site is None or source is None or node is None or source.tree is None:
        return None
    name = names_at(site, record)[0]
    bound = [
        value
        for names, value, _ in definitions(source.function(node) or source.tree)
        if name in names and value.lineno < site.line
    ]
    last = max(bound, key=lambda value: value.lineno, default=None)
    return located(source, last, site.function) if last is not None else None


def _tracked(before: Input, situation: Situation, symptom: str) -> Message:
    tensor = before.reference() if before.reference is not None else None
    key = situation.watch.journal.key
    ids = [key(leaf) for leaf in graph.leaves(tensor)] if tensor is not None else list(before.leaves)
    owner = situation.names.owner_of(ids)
    count = sum(key in situation.names.owners for key in ids)
    if owner and count:
        return Message(f"{symptom}.tracked-from", {"count": count, "owner": Code(owner)})
    return Message(f"{symptom}.tracked")


def _stations(trail: tuple[Record, ...], cut: Record, loss: Loss, symptom: str) -> list[Step]:
    """Between the cut and the failing call: the lines nearest to either end, in the order in which they ran."""
    seen: list[tuple[Record, Site]] = []
    lines: set[tuple[str, int]] = set()
    for record in reversed(trail):
        site = record.site
        if site is not None and (site.file, site.line) not in lines:
            lines.add((site.file, site.line))
            seen.append((record, site))
    kept = seen if len(seen) <= _STATIONS else [*seen[:1], *seen[-(_STATIONS - 1) :]]
    notes = [Message(f"{symptom}.derived") for _ in kept]
    if notes:
        notes[-1] = Message(f"{symptom}.after")
    return [_station(site, torch_name(record.func), note) for (record, site), note in zip(kept, notes)]


def _station(site: Site, op: str, note: Message) -> Step:
    return Step(at=site.location(), op=op, before="cut", after="cut", note=note)


def _each_line_once(steps: list[Step]) -> list[Step]:
    """Of several steps on one line the first says the most; the failing call always stays."""
    kept: list[Step] = []
    for step in steps[:-1]:
        if not any((step.at.file, step.at.line) == (k.at.file, k.at.line) for k in kept):
            kept.append(step)
    last = steps[-1]
    if (
        kept
        and (kept[-1].at.file, kept[-1].at.line) == (last.at.file, last.at.line)
        and kept[-1].after in ("cut", "plain")
    ):
        if kept[-1].before == "cut":
            kept.pop()
    return [*kept, last]


def _evidence(explanation: Explanation, situation: Situation) -> list[Evidence]:
    found: list[Evidence] = []
    record = explanation.cut.record if explanation.cut is not None else None
    if record is not None and record.site is not None:
        named = names_at(record.site, record)
        for tracked in record.inputs[:1]:
            facts: dict[str, Any] = {"requires_grad": True, "shape": tracked.shape, "dtype": tracked.dtype}
            if tracked.node:
                facts["grad_fn"] = tracked.node
            own = situation.names.parameters.get(tracked.leaves[0], "") if tracked.leaves and not tracked.node else ""
            found.append(Evidence(kind="tensor", subject=named[0] or own or "input", facts=facts))
        if record.dtype and torch_name(record.func).rpartition(".")[2] not in (
            "item",
            "tolist",
            "numpy",
            "__float__",
        ):
            facts = {"requires_grad": False, "shape": record.shape, "dtype": record.dtype}
            found.append(Evidence(kind="tensor", subject=named[1] or "result", facts=facts))
        if record.grad_off:
            found.append(Evidence(kind="grad-mode", subject="torch.is_grad_enabled()", facts={"enabled": False}))
    if situation.watch.journal.device_moves:
        moved = next((chain[0] for chain in situation.watch.journal.device_moves if chain), None)
        claim = Message("no-graph.device")
        found.append(Evidence(kind="source", subject="device", claim=claim, at=moved.location() if moved else None))
    if explanation.library is not None:
        found.append(
            Evidence(
                kind="source",
                subject=explanation.library.function or explanation.library.file,
                claim=Message("no-graph.inside-library", {"function": Code(explanation.library.function)}),
                at=explanation.library,
            )
        )
    return found


def names_at(site: Site, record: Record) -> tuple[str, str]:
    """What the line calls the cut's input and its result."""
    node, source = site.node(), site.source
    if node is None or source is None:
        return "", ""
    whole = source.segment(node)
    statement = source.statement(node)
    result = ""
    if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is node:
        target = targets(statement)[0]
        if isinstance(target, ast.Tuple) and record.output is not None and record.output < len(target.elts):
            target = target.elts[record.output]
        result = source.segment(target)
    slot = record.inputs[0].slot if record.inputs else 0
    entry: ast.AST | None = None
    if isinstance(node, ast.Call):
        arguments: list[ast.AST] = list(node.args)
        if isinstance(node.func, ast.Attribute) and ".Tensor." in torch_name(record.func):
            arguments.insert(0, node.func.value)
        if isinstance(slot, int) and slot < len(arguments):
            entry = arguments[slot]
        elif isinstance(slot, str):
            entry = next((k.value for k in node.keywords if k.arg == slot), None)
    elif isinstance(node, (ast.Compare, ast.BinOp)):
        entry = node.left
    elif isinstance(node, (ast.Attribute, ast.Subscript)):
        entry = node.value
    given = source.segment(entry) if entry is not None else ""
    return given, result or whole
