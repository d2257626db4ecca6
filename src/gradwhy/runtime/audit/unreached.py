"""Why leaves that an optimizer holds got nothing from the passes before its step: the operation that lost their path."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gradwhy.runtime import feeding, verdict
from gradwhy.runtime.audit.ledger import Lost, Pass, Step
from gradwhy.runtime.records import Record
from gradwhy.runtime.sites import Site

if TYPE_CHECKING:
    from gradwhy.runtime.audit.observer import Observer
    from gradwhy.runtime.recorder import Recorder


@dataclass(slots=True)
class _Group:
    """The cuts that one line is to blame for."""

    verdict: verdict.Verdict
    ids: set[int] = field(default_factory=set)
    fed: bool = False
    order: int = 0


def explain(ids: frozenset[int], since: int, step: Step, observer: Observer) -> dict[int, Lost]:
    """For each leaf that a cut explains: that cut. ``since``: the journal's count at the optimizer's step before."""
    recorder = observer.watch.recorder
    passes = [p for p in observer.ledger.passes if p.order > since and p.accumulates]
    last = passes[-1] if passes else None
    if last is None:
        return {}
    begin = max((s.order for s in observer.ledger.steps if s.order < last.order), default=-1)
    begin = max([begin, *(p.order for p in passes[:-1])])
    lines = lines_of(last, recorder)
    taken = [r for r in recorder.cuts if r.order < last.order and feeding.leaves_of(r) & ids]
    # What was cut since the pass before is nearer than what an earlier one may have left.
    near = [r for r in taken if r.order > begin] or [r for r in taken if r.order > since] or taken[-16:]
    groups: dict[tuple[str, int], _Group] = {}
    for record in near[-200:]:
        if record.site is not None and _in_custom_function(record.site):
            # There is no graph in there; what the function gives back is its backward's affair.
            continue
        found = verdict.of_cut(record, observer.watch.journal)
        if found is None:
            continue
        group = groups.setdefault((found.at.file, found.at.line), _Group(found))
        group.ids |= feeding.leaves_of(record) & ids
        group.order = max(group.order, record.order)
        group.fed = group.fed or _feeds(record, lines)
    ranked = sorted(groups.values(), key=lambda g: (g.fed, len(g.ids), g.order), reverse=True)
    result: dict[int, Lost] = {}
    for group in ranked:
        lost = Lost(group.verdict, group.fed, last.chain, step.chain)
        for key in group.ids:
            result.setdefault(key, lost)
    return result


def _in_custom_function(site: Site) -> bool:
    """Whether a line is of the ``forward`` of a ``torch.autograd.Function``, by its source."""
    source = site.source if site.code.co_name == "forward" else None
    function = source.function_at(site.code.co_firstlineno, "forward") if source is not None else None
    owner = source.parents.get(function) if source is not None and function is not None else None
    return isinstance(owner, ast.ClassDef) and any(ast.unparse(base).endswith("Function") for base in owner.bases)


def lines_of(each: Pass, recorder: Recorder) -> list[Site]:
    """The lines that made the graph of a pass."""
    found: Iterable[Site] = (
        Site(known[1], known[2]) for number in each.numbers if (known := recorder.nodes.lines.get(number)) is not None
    )
    return list(dict.fromkeys(found))


def _feeds(record: Record, lines: list[Site]) -> bool:
    try:
        return feeding.feeds(record, lines)
    except RecursionError:
        return False
