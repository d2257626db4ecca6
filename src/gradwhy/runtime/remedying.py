"""Tells a remedy what the run knows of a fault: names, shapes, the loss call, the lines that need gradients."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial
from typing import Any

from gradwhy.findings import Fix
from gradwhy.runtime.ancestry import torch_name
from gradwhy.runtime.explanation import Explanation
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.records import Record
from gradwhy.runtime.sites import Site, display_path
from gradwhy.runtime.telling import names_at
from gradwhy.source import text
from gradwhy.source.slicing import definitions
from gradwhy.static import remedy
from gradwhy.torchapi import hosts, table


def fixes(explanation: Explanation, situation: Situation) -> tuple[Fix, ...]:
    """Fixes with edits where a remedy is sure of them, else the catalogue's advice."""
    found = situation.each(partial(_with_edits, explanation, situation))
    return tuple(found) or (_advice(explanation),)


def written_stack(stack: Sequence[Site]) -> list[tuple[str, str]]:
    """(file, function) of the frames of a stack."""
    return [(site.file, site.code.co_name) for site in stack]


def _with_edits(explanation: Explanation, situation: Situation) -> list[Fix]:
    fault = _fault(explanation, situation)
    return remedy.fixes(fault) if fault is not None else []


def _advice(explanation: Explanation) -> Fix:
    record = explanation.cut.record if explanation.cut is not None else None
    op = torch_name(record.func).rpartition(".")[2] if record is not None else ""
    key = "advice-misspelt" if "misspelt" in explanation.facts else "advice"
    if host := hosts.advice(explanation.cause, map(written_stack, explanation.stacks)):
        key = f"advice-{host}"
    return remedy.advice(explanation.cause, _given(record), key, op)


def _fault(explanation: Explanation, situation: Situation) -> remedy.Fault | None:
    file = explanation.at.file
    source = text.read(file)
    if source is None or source.tree is None:
        return None
    node = remedy.node_at(source, explanation.at)
    if node is None:
        return None
    record = explanation.cut.record if explanation.cut is not None else None
    call, slot, target = _loss_call(explanation, situation, source)
    rebuild, takes = _rebuild(explanation, source, situation)
    return remedy.Fault(
        cause=explanation.cause,
        file=file,
        source=source,
        node=node,
        given=_given(record),
        made=_made(record),
        loss_call=call,
        loss_slot=slot,
        target=target,
        rebuild=rebuild,
        rebuild_takes=takes,
        returned=explanation.cut is not None and bool(explanation.cut.trail),
        needed=_needed(explanation, file),
        live=tuple(live.site.line for live in situation.failure.user_frames if display_path(live.site.file) == file),
        is_decorator=any(node in getattr(outer, "decorator_list", ()) for outer in source.enclosing(node)),
    )


def _given(record: Record | None) -> remedy.Value | None:
    if record is None or record.site is None or not record.inputs:
        return None
    first = record.inputs[0]
    name = names_at(record.site, record)[0]
    return remedy.Value(text=name, shape=first.shape, dtype=first.dtype.removeprefix("torch.")) if name else None


def _made(record: Record | None) -> remedy.Value | None:
    if record is None or record.site is None:
        return None
    name = names_at(record.site, record)[1]
    return remedy.Value(text=name, shape=record.shape, dtype=record.dtype.removeprefix("torch."))


def _loss_call(
    explanation: Explanation, situation: Situation, source: text.SourceText
) -> tuple[ast.Call | None, int, remedy.Value | None]:
    """The user's call that reached a torch loss on the way from the cut, in the cut's own function where it can be."""
    trail = explanation.cut.trail if explanation.cut is not None else ()
    knowledge = table.load()
    for record, after in zip(trail, [*trail[1:], explanation.cut.record if explanation.cut else None]):
        site = record.site
        if site is None or not knowledge.is_loss(torch_name(record.func)) or site.source is not source:
            continue
        node = site.node()
        slot = next((slot for slot, parent in record.parents if parent is after and isinstance(slot, int)), 0)
        if isinstance(node, ast.Call) and len(node.args) >= 2:
            other = node.args[1 - slot] if slot in (0, 1) else None
            return node, slot, _live_value(other, site, source, situation)
    return None, 0, None


def _live_value(
    node: ast.expr | None, site: Site, source: text.SourceText, situation: Situation
) -> remedy.Value | None:
    """The shape of a name in the frame that is still live at that place; names only, nothing is evaluated."""
    if not isinstance(node, ast.Name):
        return None
    for live in situation.failure.user_frames:
        if live.site.code is site.code:
            value: Any = live.frame.f_locals.get(node.id)
            shape = getattr(value, "shape", None)
            if isinstance(shape, tuple):
                return remedy.Value(
                    text=source.segment(node),
                    shape=tuple(shape),
                    dtype=str(value.dtype).removeprefix("torch."),
                )
    return None


def _rebuild(
    explanation: Explanation, source: text.SourceText, situation: Situation
) -> tuple[ast.Call | None, remedy.Takes]:
    """The line that made a tensor of the departed value, and whether it was given a list of them."""
    cut = explanation.cut
    if cut is None:
        return None, "value"
    for record in reversed(cut.trail):
        row = table.load().op(torch_name(record.func))
        site = record.site
        if row is None or row.effect != "builds" or site is None or site.source is not source:
            continue
        node = site.node()
        if isinstance(node, ast.Call) and node.args:
            return node, _takes(node.args[0], site, situation)
    site = cut.record.site
    node = site.node() if site is not None else None
    if site is not None and isinstance(node, ast.Call) and node.args:
        return None, _takes(node.args[0], site, situation)
    return None, "value"


def _takes(node: ast.expr, site: Site, situation: Situation) -> remedy.Takes:
    """What a name stands for, in the frame that is still live or by how the function made it."""
    source = site.source
    if not isinstance(node, ast.Name) or source is None:
        return "value"
    for live in situation.failure.user_frames:
        if live.site.code is site.code:
            value: Any = live.frame.f_locals.get(node.id)
            if type(value) not in (list, tuple):
                return "value"
            return "nested" if any(type(item) in (list, tuple) for item in value) else "list"
    scope = source.function(node) or source.tree
    for bound, made, _ in definitions(scope) if scope is not None else ():
        if node.id in bound and isinstance(made, (ast.List, ast.ListComp, ast.Tuple)):
            items = made.elts if isinstance(made, (ast.List, ast.Tuple)) else [made.elt]
            return "nested" if any(isinstance(item, (ast.List, ast.Tuple)) for item in items) else "list"
    return "value"


def _needed(explanation: Explanation, file: str) -> tuple[int, ...]:
    lines: list[int] = []
    if explanation.cut is not None:
        for record in (*explanation.cut.trail, explanation.cut.record):
            lines += [
                site.line
                for site in (record.site, *record.chain)
                if site is not None and display_path(site.file) == file
            ]
    return tuple(lines)
