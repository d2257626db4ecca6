"""What a remedy is told about a fault, and how remedies are found: one file a cause in ``remedies/``, for either engine."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from dataclasses import replace as changed
from typing import Literal, Protocol, TypeAlias, cast

from gradwhy.findings import Argument, Code, Edit, Evidence, Finding, Fix, Location, Message
from gradwhy.source import text
from gradwhy.source.text import SourceText, Span

# What a call that makes a tensor of values is given: one value, a list of them, or lists in a list.
Takes: TypeAlias = Literal["value", "list", "nested"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """What is known of a tensor: the expression that names it, its shape and its dtype ("float32")."""

    text: str
    shape: tuple[int, ...] | None = None
    dtype: str = ""


class Written(Protocol):
    """Program text in a file: what an edit needs to know of the place that it changes."""

    @property
    def file(self) -> str: ...
    @property
    def source(self) -> SourceText: ...


@dataclass(frozen=True, slots=True)
class Spot:
    """A place of a finding: the node that stands exactly there, else the statement on its line."""

    file: str
    source: SourceText
    node: ast.AST


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault, in terms of the source. ``node`` is the expression at fault; what isn't known is None."""

    cause: str
    file: str
    source: SourceText
    node: ast.AST
    given: Value | None = None
    """The cut's input, which has a path."""
    made: Value | None = None
    """The cut's result, which has none."""
    loss_call: ast.Call | None = None
    """The call of a loss that took the result, in the same file, and which of its arguments it was."""
    loss_slot: int = 0
    target: Value | None = None
    rebuild: ast.Call | None = None
    """The call that made a tensor of a value that had left torch."""
    rebuild_takes: Takes = "value"
    returned: bool = False
    """Whether the value that left torch was seen to come back, as a number in a torch operation."""
    needed: tuple[int, ...] = ()
    """Lines of the same file that the path went through."""
    live: tuple[int, ...] = ()
    """Lines of the same file that were being executed when it failed, the innermost last."""
    is_decorator: bool = False
    symptom: str | None = None
    args: Mapping[str, Argument] = field(default_factory=dict)
    """What fills the finding's headline."""
    headline: str = ""
    """The key of the headline's text: "headline-list" of ``param-not-registered.headline-list``."""
    spots: Mapping[str, tuple[Spot, ...]] = field(default_factory=dict)
    """The stations of the finding's path by the key of their notes: "written" for ``inplace-op.written``. "surfaces" is where
    the fault showed."""
    evidence: tuple[Evidence, ...] = ()

    def spot(self, *roles: str) -> Spot | None:
        """The first station in one of these roles."""
        return next((spot for role in roles for spot in self.spots.get(role, ())), None)


class Remedy(Protocol):
    """What a module in ``remedies/`` has; its name is the cause's, with "_" for "-"."""

    def remedies(self, fault: Fault) -> Iterable[Fix]:
        """Fixes with edits, the best first; none where it isn't certain that they fit."""


def fixes(fault: Fault) -> list[Fix]:
    """The fixes with edits, the best first; none where no remedy is sure."""
    name = fault.cause.replace("-", "_")
    known = {
        module.name for module in pkgutil.iter_modules(importlib.import_module("gradwhy.static.remedies").__path__)
    }
    if name not in known:
        return []
    remedy = cast(Remedy, importlib.import_module(f"gradwhy.static.remedies.{name}"))
    return [fix for fix in remedy.remedies(fault) if _parses(fault, fix)]


def completed(finding: Finding, source: SourceText | None = None) -> Finding:
    """The finding with the edits that its cause's remedy is sure of, where it came with words only; the related ones too.

    ``source`` is the text of the finding's file, where that is known already.
    """
    finding = changed(finding, related=tuple(completed(other, source) for other in finding.related))
    if any(fix.edits for fix in finding.fixes):
        return finding
    known = {finding.at.file: source} if source is not None else {}
    here = _spot(finding.at, known)
    if here is None:
        return finding
    fault = Fault(
        cause=finding.cause,
        file=here.file,
        source=here.source,
        node=here.node,
        symptom=finding.symptom,
        args=finding.message.args,
        headline=finding.message.id.partition(".")[2],
        spots=_spots(finding, known),
        evidence=finding.evidence,
        is_decorator=any(
            here.node in getattr(outer, "decorator_list", ()) for outer in here.source.enclosing(here.node)
        ),
    )
    return changed(finding, fixes=tuple(fixes(fault)) or finding.fixes)


def _spots(finding: Finding, known: Mapping[str, SourceText]) -> dict[str, tuple[Spot, ...]]:
    spots: dict[str, tuple[Spot, ...]] = {}
    places = [(step.note.id.rpartition(".")[2], step.at) for step in finding.path if step.note is not None]
    if finding.surfaces_at is not None and "surfaces" not in dict(places):
        places.append(("surfaces", finding.surfaces_at))
    for role, at in places:
        spot = _spot(at, known)
        if spot is not None:
            spots[role] = (*spots.get(role, ()), spot)
    return spots


def _spot(at: Location, known: Mapping[str, SourceText]) -> Spot | None:
    source = known.get(at.file) or text.read(at.file)
    if source is None or source.tree is None:
        return None
    node = node_at(source, at) or source.statement_at(at.line)
    return Spot(at.file, source, node) if node is not None else None


def node_at(source: SourceText, at: Location) -> ast.AST | None:
    """The outermost expression or statement whose span is the location's."""
    for node in ast.walk(source.tree) if source.tree is not None else ():
        if isinstance(node, (ast.expr, ast.stmt)) and not isinstance(node, ast.Expr) and node.lineno == at.line:
            span = source.span(node)
            if (span.column, span.end_line, span.end_column) == (at.column, at.end_line, at.end_column):
                return node
    return None


def advice(cause: str, given: Value | None = None, key: str = "advice", op: str = "") -> Fix:
    """The catalogue's remedy in words."""
    return Fix(
        title=Message(f"{cause}.{key}", {"input": Code(given.text if given else "…"), "op": Code(op or cause)}),
        applicability="display",
    )


def _parses(fault: Fault, fix: Fix) -> bool:
    """An edit that leaves a file which does not parse is no fix."""
    from gradwhy.source import edits

    texts = {spot.file: spot.source.text for spots in fault.spots.values() for spot in spots}
    texts[fault.file] = fault.source.text
    try:
        for file in {edit.file for edit in fix.edits}:
            ast.parse(edits.apply(texts[file], [edit for edit in fix.edits if edit.file == file]))
    except (SyntaxError, ValueError, KeyError):
        return False
    return True


def replace(where: Written, node: ast.AST | Span, new_text: str) -> Edit:
    """The edit that puts ``new_text`` in a node's place."""
    span = node if isinstance(node, Span) else where.source.span(node)
    return Edit(
        file=where.file,
        line=span.line,
        column=span.column,
        end_line=span.end_line,
        end_column=span.end_column,
        new_text=new_text,
    )
