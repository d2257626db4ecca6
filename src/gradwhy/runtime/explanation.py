"""A candidate for why a loss has no path, before it is told as a finding."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from gradwhy.findings import Evidence, Location, Message
from gradwhy.runtime import live
from gradwhy.runtime.account import names_bound
from gradwhy.runtime.ancestry import Reached, behind
from gradwhy.runtime.failure import LiveFrame
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.records import Record
from gradwhy.runtime.sites import Site, located
from gradwhy.source.slicing import definitions, dotted_name, names_read


@dataclass(frozen=True, slots=True)
class Loss:
    """The tensor that was differentiated: its record, what lies behind it, and the user's name for it."""

    name: str
    surface: LiveFrame
    record: Record | None
    reached: tuple[Reached, ...]
    trained: frozenset[int]
    """ids of what the optimizers hold."""

    @classmethod
    def of(
        cls, tensor: Any, index: int, surface: LiveFrame, situation: Situation, record: Record | None = None
    ) -> Loss:
        """``record`` where the tensor has one although it requires grad."""
        recorder = situation.watch.recorder
        known = recorder.record_of(tensor) if record is None else record
        name = _name_at(surface, index, tensor) or situation.names.variable(tensor)
        reached = tuple(behind(known)) if known is not None else ()
        name = name or _name_made(reached, surface.site) or "the loss"
        return cls(name, surface, known, reached, _trained(situation))


def _trained(situation: Situation) -> frozenset[int]:
    """What this ``backward`` is to train: the parameters of the optimizers that were cleared for it, else of those in
    sight, else of all that were made."""
    journal = situation.watch.journal
    if cleared := journal.cleared_parameters():
        return frozenset(cleared)
    in_sight = {id(optimizer) for optimizer in situation.names.optimizers.values()}
    chosen = [record for record in journal.optimizers if id(record.reference()) in in_sight] or journal.optimizers
    return frozenset(id(parameter) for record in chosen for parameter in record.parameters())


def _name_at(surface: LiveFrame, index: int, tensor: Any) -> str:
    """What the failing line calls the tensor: ``loss`` in ``loss.backward()``, the first argument of ``grad(...)``."""
    node, source = surface.site.node(), surface.site.source
    if not isinstance(node, ast.Call) or source is None:
        return ""
    if isinstance(node.func, ast.Attribute) and node.func.attr == "backward":
        base = node.func.value
        if not node.args and not (isinstance(base, ast.Attribute) and base.attr == "autograd"):
            return source.segment(base)
    first = (
        node.args[0] if node.args else next((k.value for k in node.keywords if k.arg in ("outputs", "tensors")), None)
    )
    if isinstance(first, (ast.Tuple, ast.List)):
        first = first.elts[index] if index < len(first.elts) else None
    if first is None:
        return ""
    # ``trainer.fit(model)`` goes backward as well, and not on the model.
    told = any(word in dotted_name(node.func).lower() for word in ("backward", "grad", "jac", "hess"))
    return source.segment(first) if told or live.value(first, surface) is tensor else ""


def _name_made(reached: tuple[Reached, ...], surface: Site) -> str:
    """What the function that made it calls the loss, where a trainer went backward on what that function returned."""
    for each in reached[:8]:
        site = each.record.site
        if site is not None and (site.file, site.line) != (surface.file, surface.line):
            bound = names_bound(site)
            return bound[0] if len(bound) == 1 else ""
    return ""


def definition(loss: Loss, through_arithmetic: bool = False) -> tuple[Location, str] | None:
    """Where the failing function computes the loss: the last assignment to its name before the failing line.

    ``through_arithmetic``: where that is plain arithmetic on one value that a call gave just before, the call.
    """
    site = loss.surface.site
    node, source = site.node(), site.source
    if node is None or source is None or source.tree is None:
        return None
    bound = list(definitions(source.function(node) or source.tree))
    before = [(value, at) for names, value, at in bound if loss.name in names and value.lineno <= site.line]
    if not before:
        return None
    last, statement = max(before, key=lambda pair: pair[0].lineno)
    base: ast.AST = last
    while isinstance(base, ast.Call) and isinstance(base.func, ast.Attribute):
        base = base.func.value
    if through_arithmetic and isinstance(base, (ast.BinOp, ast.UnaryOp)):
        block = source.parents.get(statement)
        read = names_read(last)
        calls = [
            value for names, value, at in bound
            if names & read and isinstance(value, ast.Call) and source.parents.get(at) is block and at is not statement
        ]  # fmt: skip
        last = calls[0] if len(calls) == 1 else last
    return located(source, last, site.function), source.segment(last)


@dataclass(slots=True)
class Explanation:
    """``trains``: undoing it would give a gradient to what an optimizer holds. ``weight``: how far-fetched it is."""

    cause: str
    at: Location
    subject: str
    certain: bool
    trains: bool
    distance: int
    weight: int = 0
    cut: Reached | None = None
    site: Site | None = None
    opened: Location | None = None
    library: Location | None = None
    steps: tuple[tuple[Location, Message], ...] = ()
    """Stations before the cut, such as the lines that froze."""
    evidence: tuple[Evidence, ...] = ()
    because: str = ""
    stacks: tuple[tuple[Site, ...], ...] = ()
    """The calls inside packages in which it came about, each from the inside out."""
    facts: dict[str, Any] = field(default_factory=dict)
