"""Terms of a loss that are constants for autograd although they were computed from what is to be trained."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch

from gradwhy.runtime import feeding, verdict
from gradwhy.runtime.ancestry import Reached
from gradwhy.runtime.audit.ledger import Ledger
from gradwhy.runtime.explanation import Explanation, Loss
from gradwhy.runtime.failure import standing
from gradwhy.runtime.names import Names
from gradwhy.runtime.records import Record, node_of
from gradwhy.runtime.sites import Site, user_frame
from gradwhy.source.slicing import lines_behind

if TYPE_CHECKING:
    from gradwhy.runtime.watch import Watch

_ADDING = ("add", "sub", "__add__", "__radd__", "__sub__", "__rsub__", "__iadd__", "__isub__", "add_", "rsub")
_TRIES = 3
KIND = "term"


@dataclass(slots=True)
class Term:
    """One line that adds such a term, and what lost its path. The ledger's mark says whether the sum was differentiated."""

    site: Site
    explanation: Explanation | None = None
    name: str = ""
    tries: int = 0


class Terms:
    """Looks at sums of single numbers only; each line is explained once."""

    def __init__(self, watch: Watch, ledger: Ledger) -> None:
        self._watch = watch
        self._ledger = ledger
        self.lines: dict[Site, Term] = {}

    def listen(self) -> None:
        owners = (torch, torch.Tensor)
        functions = [getattr(owner, name, None) for owner in owners for name in _ADDING] + [torch.stack]
        self._watch.recorder.listeners.update({function: self.join for function in functions if function is not None})

    def join(self, args: Any, kwargs: Any, result: Any, frame: FrameType) -> None:
        """A sum that has a path, of one number, or several numbers that were stacked."""
        if not args or not isinstance(result, torch.Tensor) or not result.requires_grad or result.dim() > 1:
            return
        operands = args[0] if isinstance(args[0], (list, tuple)) else args[:2]
        for operand in operands:
            record = self._record(operand)
            if record is not None or (type(operand) is float and operand):
                self._add(operand, record, result, frame)

    def _record(self, operand: Any) -> Record | None:
        recorder = self._watch.recorder
        if isinstance(operand, torch.Tensor):
            return recorder.record_of(operand) if operand.dim() == 0 else None
        return recorder.departures.numbers.get(operand) if type(operand) is float else None

    def _add(self, operand: Any, record: Record | None, result: Any, frame: FrameType) -> None:
        user = user_frame(frame)
        node = node_of(result)
        if user is None or node is None:
            return
        site = Site(user.f_code, user.f_lasti)
        term = self.lines.setdefault(site, Term(site))
        if term.explanation is None and term.tries < _TRIES:
            term.tries += 1
            self._explain(term, operand, record, user)
        if term.explanation is not None:
            self._ledger.mark(KIND, site, node._sequence_nr(), {})

    def _explain(self, term: Term, operand: Any, record: Record | None, frame: FrameType) -> None:
        from gradwhy.runtime.probes import Situation
        from gradwhy.runtime.probes.no_graph import explanations

        with standing(frame) as failure:
            surface = failure.surface
            if surface is None:
                return
            situation = Situation(failure, self._watch, Names(failure.frames))
            if record is None:
                self._explain_number(term)
                return
            loss = replace(Loss.of(operand, 0, surface, situation, record), name=situation.names.variable(operand))
            found = [e for e in explanations(loss, situation) if e.trains and e.cut is not None]
        if found:
            # No tensor may stay in what is kept.
            term.explanation, term.name = found[0], loss.name

    def _explain_number(self, term: Term) -> None:
        """A number that the program worked on in Python: the lines that it may come from decide, so it is only likely."""
        node, source = term.site.node(), term.site.source
        sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [getattr(node, "value", None)]
        lines = (
            set().union(*(lines_behind(source, side) for side in sides if side is not None))
            if source is not None
            else set()
        )
        trained = {id(p) for made in self._watch.journal.optimizers for p in made.parameters()}
        for record in reversed(self._watch.recorder.departures.kept):
            found = verdict.of_departure(record) if record.site is not None and record.site.line in lines else None
            if found is not None and record.site is not None and record.site.file == term.site.file:
                if feeding.leaves_of(record) & trained:
                    cut = Reached(record, 0, ())
                    term.explanation = Explanation(
                        found.cause, found.at, found.subject, certain=False, trains=True, distance=0, cut=cut, site=record.site
                    )  # fmt: skip
                    return
