"""What rules look at: the events of a file's interpretation, and the means to say where something is."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from gradwhy.catalog import render
from gradwhy.findings import (
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
from gradwhy.source.text import SourceText
from gradwhy.static.flow.frames import Event, Frame
from gradwhy.static.flow.run import Run
from gradwhy.static.flow.values import Optimizer, Tensor


@dataclass(frozen=True, slots=True)
class Place:
    """A node, in the call that it was interpreted in."""

    node: ast.AST
    frame: Frame | None


class Program:
    """One file, interpreted."""

    def __init__(self, source: SourceText, file: str, run: Run, strict: bool = False) -> None:
        self.source = source
        self.file = file
        self.run = run
        self.events = run.events
        self.strict = strict
        """Whether what holds on some paths only is asked for."""

    # -- events

    def each(self, *kinds: str) -> list[Event]:
        return [event for event in self.events if event.kind in kinds]

    @cached_property
    def optimizers(self) -> list[Optimizer]:
        """Every optimizer that the file makes."""
        made = {id(e.optimizer): e.optimizer for e in self.each("optimizer") if e.optimizer is not None}
        return list(made.values())

    @cached_property
    def trained(self) -> dict[int, Tensor]:
        """The tensors that an optimizer holds, by id."""
        return {id(tensor): tensor for event in self.each("optimizer") for tensor in event.tensors}

    @cached_property
    def whole(self) -> bool:
        """Whether all that goes backward was seen, from the beginning to the end: a claim about what never happens needs it."""
        return not self.run.spent_all and not self.each("backward-unknown", "entry")

    # -- telling

    def text(self, node: ast.AST | None) -> str:
        return self.source_of(node).segment(node) if node is not None else ""

    def all_nodes(self) -> Iterator[ast.AST]:
        """Every node of the file, and of those that it imports: to see whether something is there at all."""
        for source in (self.source, *(file.source for file in self.run.entered.values())):
            if source.tree is not None:
                yield from ast.walk(source.tree)

    def source_of(self, node: ast.AST | None) -> SourceText:
        """The text that a node stands in: this file's, or that of one which it imports."""
        entered = self.run.entered
        if node is None or not entered or node in self.source.parents:
            return self.source
        return next((file.source for file in entered.values() if node in file.source.parents), self.source)

    def file_of(self, node: ast.AST | None) -> str:
        source = self.source_of(node)
        return self.file if source is self.source else source.path

    def at(self, place: Place) -> Location:
        span = self.source_of(place.node).span(place.node)
        return Location(
            file=self.file_of(place.node),
            line=span.line,
            column=span.column,
            end_line=span.end_line,
            end_column=span.end_column,
            function=place.frame.name if place.frame is not None else "",
        )

    def line_of(self, place: Place) -> tuple[str, int]:
        """The file and line that a finding at a place would have."""
        return self.file_of(place.node), getattr(place.node, "lineno", 0)

    def step(
        self, place: Place, note: Message | None = None, before: GradState = "unknown", after: GradState = "unknown"
    ) -> Step:
        return Step(at=self.at(place), note=note, before=before, after=after)

    def code(self, node: ast.AST | None) -> Code:
        return Code(self.text(node))

    def finding(
        self,
        cause: str,
        place: Place,
        message: Message,
        *,
        symptom: str | None,
        severity: Severity = "error",
        subject: str = "",
        surfaces: Place | None = None,
        path: Iterable[Step] = (),
        fixes: Iterable[Fix] = (),
        evidence: Iterable[Evidence] = (),
        related: Iterable[Finding] = (),
        likely: bool = False,
    ) -> Finding:
        at = self.at(place)
        return Finding(
            cause=cause,
            symptom=symptom,
            engine="static",
            severity=severity,
            certainty="likely" if likely else "proven",
            subject=render.one_line(subject or self.text(place.node), 200),
            at=at,
            surfaces_at=self.at(surfaces) if surfaces is not None else None,
            path=each_line_once(path),
            message=message,
            evidence=tuple(evidence),
            fixes=tuple(fixes),
            related=tuple(related),
            fingerprint=fingerprint(cause, at, self.source_of(place.node).line(at.line)),
        )


def each_line_once(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Of several steps on one line the first says the most."""
    kept: dict[tuple[str, int], Step] = {}
    for step in steps:
        kept.setdefault((step.at.file, step.at.line), step)
    return tuple(kept.values())
