"""A candidate for why a loss has no path, before it is told as a finding."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from gradwhy.findings import Evidence, Location, Message
from gradwhy.runtime.ancestry import Reached, behind
from gradwhy.runtime.failure import LiveFrame
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.recorder import Record
from gradwhy.runtime.sites import Site, located
from gradwhy.source.slicing import definitions


@dataclass(frozen=True, slots=True)
class Loss:
    """The tensor that was differentiated: its record, what lies behind it, and the user's name for it."""

    tensor: Any
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
        name = _name_at(surface.site, index) or situation.names.variable(tensor)
        reached = tuple(behind(known)) if known is not None else ()
        return cls(tensor, name or "the loss", surface, known, reached, _trained(situation))


def _trained(situation: Situation) -> frozenset[int]:
    """What the optimizers in sight are to train; all that were made, where none is in sight."""
    in_sight = [id(optimizer) for optimizer in situation.names.optimizers.values()]
    made = situation.watch.journal.optimizers
    seen = [record for record in made if id(record.reference()) in in_sight] or made
    return frozenset(id(parameter) for record in seen for parameter in record.parameters())


def _name_at(site: Site, index: int) -> str:
    """What the failing line calls the tensor: ``loss`` in ``loss.backward()``, the first argument of ``grad(...)``."""
    node, source = site.node(), site.source
    if not isinstance(node, ast.Call) or source is None:
        return ""
    if isinstance(node.func, ast.Attribute) and node.func.attr == "backward":
        base = node.func.value
        if not node.args and not (isinstance(base, ast.Attribute) and base.attr == "autograd"):
            return source.segment(base)
    first = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg in ("outputs", "tensors")), None)
    if isinstance(first, (ast.Tuple, ast.List)):
        first = first.elts[index] if index < len(first.elts) else None
    return source.segment(first) if first is not None else ""


def definition(loss: Loss) -> tuple[Location, str] | None:
    """Where the failing function computes the loss: the last assignment to its name before the failing line."""
    site = loss.surface.site
    node, source = site.node(), site.source
    if node is None or source is None or source.tree is None:
        return None
    scope = source.function(node) or source.tree
    before = [value for bound, value, _ in definitions(scope) if loss.name in bound and value.lineno <= site.line]
    last = max(before, key=lambda value: value.lineno, default=None)
    return (located(source, last, site.function), source.segment(last)) if last is not None else None


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
    count: int = 1
    facts: dict[str, Any] = field(default_factory=dict)
