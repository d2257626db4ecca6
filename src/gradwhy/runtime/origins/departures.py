"""Numbers and arrays that left torch with a gradient path behind them and came back, changed, as a new tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradwhy.runtime import verdict
from gradwhy.runtime.ancestry import Reached, behind, torch_name
from gradwhy.runtime.explanation import Explanation, Loss
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.records import Record
from gradwhy.runtime.sites import Site
from gradwhy.source.slicing import lines_behind
from gradwhy.torchapi import table


def explain(loss: Loss, situation: Situation) -> Iterable[Explanation]:
    """Only where no cut was reached by the record itself: then the lines that the value may come from decide."""
    if not any(reached.record.is_cut for reached in loss.reached):
        yield from behind_lines(_starts(loss), loss, situation)


def behind_lines(starts: Iterable[tuple[Site, ast.AST]], loss: Loss, situation: Situation) -> Iterator[Explanation]:
    """What left torch on the lines that one of these expressions may come from; the first that has such lines decides."""
    recorder = situation.watch.recorder
    departures = [record for record in recorder.departures.kept if _had_a_path(record)]
    if not departures:
        return
    for depth, (site, node) in enumerate(starts):
        lines = lines_behind(site.source, node) if site.source is not None else set()
        near = [
            record
            for record in departures
            if record.site and record.site.file == site.file and record.site.line in lines
        ]
        if near:
            yield from explanations(near[::-1], loss, distance=depth)
            return


def _had_a_path(record: Record) -> bool:
    return record.is_cut or any(reached.record.is_cut for reached in behind(record, limit=2_000))


def _starts(loss: Loss) -> Iterator[tuple[Site, ast.AST]]:
    """Where values may have come back: lines that made a tensor of values, or used one that was never seen before,
    nearest first; the failing line itself where nothing is known of the loss."""
    sites: list[Site | None] = []
    for reached in loss.reached:
        row = table.load().op(torch_name(reached.record.func))
        if reached.record.func is None or (row is not None and row.effect == "builds"):
            sites.append(reached.record.site or (reached.trail[-1].site if reached.trail else None))
    for site in sites if loss.record is not None else [loss.surface.site]:
        node = site.node() if site is not None else None
        if site is not None and node is not None:
            yield site, node


def explanations(records: list[Record], loss: Loss, distance: int) -> Iterator[Explanation]:
    """One for each line on which one of these values left torch."""
    seen: set[tuple[str, int]] = set()
    for record in records:
        found = verdict.of_departure(record)
        site = record.site
        if site is None or found is None or (site.file, site.line) in seen:
            continue
        seen.add((site.file, site.line))
        leaves = {leaf for tracked in record.inputs for leaf in tracked.leaves}
        yield Explanation(
            cause=found.cause,
            at=found.at,
            subject=found.subject,
            certain=False,
            trains=not (loss.trained and leaves) or bool(leaves & loss.trained),
            distance=distance + len(seen),
            cut=Reached(record, 0, ()),
            site=site,
            because=found.because,
        )
