"""A finding from its parts, for the probes that know the line and the reason: stations in order, then where it surfaces."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any

from gradwhy.catalog import render
from gradwhy.findings import (
    Argument,
    Code,
    Evidence,
    Finding,
    Fix,
    Location,
    Message,
    Severity,
    Step,
    fingerprint,
)
from gradwhy.findings.evidence import Scalar
from gradwhy.runtime.failure import LiveFrame
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.records import node_of
from gradwhy.runtime.sites import Site, located
from gradwhy.source import text
from gradwhy.source.slicing import bound_names, definitions, dotted_name, names_read, targets
from gradwhy.source.slicing import called as called


@dataclass(frozen=True, slots=True)
class Place:
    """A line to change, with the text that stands there."""

    at: Location
    text: str

    @classmethod
    def of(cls, site: Site) -> Place:
        return cls(site.location(), site.expression())


def binding(name: str, situation: Situation) -> Place | None:
    """The last statement that binds a name, in the functions that are being executed and those around them: from the source."""
    if not name.isidentifier():
        return None
    for live in reversed(situation.failure.user_frames):
        source = live.site.source
        node = live.site.node() or (source.statement_at(live.site.line) if source is not None else None)
        if source is None or source.tree is None or node is None:
            continue
        for scope in [outer for outer in source.enclosing(node) if isinstance(outer, _SCOPES)]:
            values = [value for names, value, node in definitions(scope) if name in names and _is_whole(name, node)]
            if values:
                last = max(values, key=lambda value: value.lineno)
                return Place(located(source, last), source.segment(last))
    return None


def _is_whole(name: str, node: ast.AST) -> bool:
    """Whether a statement binds the name itself: ``x[0] = ...`` and ``x.append(...)`` only change what it stands for."""
    parts = [part for target in targets(node) for part in ast.walk(target)]
    return any(isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Store) for part in parts)


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)


def finding(
    situation: Situation,
    symptom: str,
    cause: str,
    at: Location,
    subject: str,
    *,
    facts: Mapping[str, Argument] | None = None,
    headline: str = "headline",
    steps: Iterable[Step] = (),
    evidence: Iterable[Evidence] = (),
    fixes: tuple[Fix, ...] | None = None,
    advice: str = "advice",
    certain: bool = True,
    severity: Severity = "error",
    related: tuple[Finding, ...] = (),
) -> Finding:
    """One cause at one place. ``facts`` fill the headline ``<cause>.<headline>`` and the advice ``<cause>.<advice>``.

    The failing line becomes the last station; one that ``steps`` has already is not told twice.
    """
    filled = {"subject": Code(subject), **(facts or {})}
    source = text.read(at.file)
    surface = situation.failure.surface
    return Finding(
        cause=cause,
        symptom=symptom,
        engine="runtime",
        severity=severity,
        certainty="proven" if certain else "likely",
        subject=render.one_line(subject, 200),
        at=at,
        surfaces_at=surface.site.location() if surface is not None else None,
        path=_stations(situation, at, list(steps)),
        message=Message(f"{cause}.{headline}", filled),
        evidence=tuple(evidence),
        fixes=fixes or (Fix(title=Message(f"{cause}.{advice}", filled), applicability="display"),),
        fingerprint=fingerprint(cause, at, source.line(at.line) if source is not None else ""),
        related=related,
    )


def _stations(situation: Situation, at: Location, steps: list[Step]) -> tuple[Step, ...]:
    surface = situation.failure.surface
    kept: list[Step] = []
    for step in steps:
        if not any((step.at.file, step.at.line, step.note) == (k.at.file, k.at.line, k.note) for k in kept):
            kept.append(step)
    if (at.file, at.line) not in {(step.at.file, step.at.line) for step in kept}:
        failing = surface is not None and _same_line(surface.site.location(), at)
        if not failing:
            kept.append(Step(at=at, note=Message("words.here")))
    if surface is not None and situation.failure.error is not None:
        error = type(situation.failure.error).__name__
        said: dict[str, Argument] = {"error": error, "text": beginning(situation.failure.text)}
        kept.append(Step(at=surface.site.location(), note=Message("words.surfaces", said)))
    return tuple(kept)


def _same_line(a: Location, b: Location) -> bool:
    return (a.file, a.line) == (b.file, b.line)


def beginning(text: str, words: int = 4) -> str:
    """The first words of a message: enough to know it by."""
    parts = render.one_line(text, 400).split(" ")
    return " ".join(parts[:words]) + (" …" if len(parts) > words else "")


def station(site: Site, note: Message, op: str = "") -> Step:
    """A line of the way with what happened there."""
    return Step(at=site.location(), op=op, note=note)


def expression(site: Site | None) -> str:
    """The text of what ran at a site, "" where it isn't known."""
    return site.expression() if site is not None else ""


def written(at: Location) -> str:
    """The text that stands at a place, where that is on one line."""
    source = text.read(at.file)
    if source is None or at.end_column is None or at.end_line not in (None, at.line):
        return ""
    return source.line(at.line)[at.column - 1 : at.end_column - 1]


def statement_of(site: Site) -> ast.stmt | None:
    """The statement that ran at a site."""
    node, source = site.node(), site.source
    if source is None:
        return None
    return (source.statement(node) if node is not None else None) or source.statement_at(site.line)


def names_bound(site: Site) -> list[str]:
    """What the statement at a site assigns to: "h" and "self.cell" of ``h, self.cell = ...``."""
    statement = statement_of(site)
    return [name for target in targets(statement) for name in bound_names(target)] if statement is not None else []


def derived_names(site: Site, names: set[str]) -> set[str]:
    """``names``, and those that the function at a site computes from them."""
    node, source = site.node(), site.source
    scope = (source.function(node) or source.tree) if source is not None and node is not None else None
    found = set(names)
    if scope is None:
        return found
    for _ in range(64):
        more = {n for bound, value, _ in definitions(scope) if names_read(value) & found for n in bound} - found
        if not more:
            break
        found |= more
    return found


def received(site: Site, names: set[str], caller: Site) -> set[str]:
    """The names by which a caller receives what the function at a site returns of ``names``, by position where it is a tuple."""
    source, node = site.source, site.node()
    function = source.function(node) if source is not None and node is not None else None
    taken: set[str] = set()
    for statement in ast.walk(function) if function is not None else ():
        if not isinstance(statement, ast.Return) or statement.value is None:
            continue
        own = statement_of(site) is statement
        parts = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
        places = [i for i, part in enumerate(parts) if own or names_read(part) & names]
        receiving = statement_of(caller)
        for target in targets(receiving) if receiving is not None else ():
            split = target.elts if isinstance(target, ast.Tuple) and len(parts) == len(target.elts) > 1 else None
            for place in places:
                taken |= set(bound_names(split[place] if split is not None else target))
        if places and isinstance(receiving, ast.Return):
            taken.add(RETURNED)
    return taken


RETURNED = "return"
"""Stands for the value of a ``return`` statement that hands on what a call gave."""


def names_used(site: Site) -> set[str]:
    """What the statement at a site reads."""
    statement = statement_of(site)
    return names_read(statement) if isinstance(statement, _SIMPLE) else set()


_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)


def call_at(site: Site) -> ast.Call | None:
    """The call that ran at a site."""
    node = site.node()
    return node if isinstance(node, ast.Call) else None


def place_of(site: Site, node: ast.AST) -> Location | None:
    """A node of the same file as a site."""
    return located(site.source, node) if site.source is not None else None


def receiver(site: Site) -> str:
    """``x`` of ``x.backward()``, ``x.add_(1)`` and ``x[0]``: what the expression at a site is applied to."""
    node, source = site.node(), site.source
    if source is None:
        return ""
    inner: ast.AST | None = None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        inner = node.func.value
    elif isinstance(node, (ast.Subscript, ast.Attribute)):
        inner = node.value
    elif isinstance(node, ast.AugAssign):
        inner = node.target
    elif isinstance(node, ast.Assign):
        inner = node.targets[0]
    return (dotted_name(inner) or source.segment(inner)) if inner is not None else ""


def shape_of(tensor: Any) -> tuple[int, ...]:
    """The shape as plain ints."""
    return tuple(int(size) for size in tensor.shape)


def assignment(name: str, site: Site) -> Place | None:
    """The one assignment to a dotted name such as ``self.ones`` in the file of a site; None where there are several."""
    source = site.source
    if source is None or source.tree is None:
        return None
    found = [
        node.value
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Assign) and any(dotted_name(target) == name for target in node.targets)
    ]
    return Place(located(source, found[0]), source.segment(found[0])) if len(found) == 1 else None


def handed_over(name: str, situation: Situation) -> Place | None:
    """The outer call that handed a value over, where the failing function got it as an argument: from the live frames."""
    found = list(arguments(name, situation))
    return Place.of(found[-1][0].site) if found else None


def arguments(name: str, situation: Situation) -> Iterator[tuple[LiveFrame, ast.expr]]:
    """(frame, expression) of what each caller gave for a value that the failing function got as an argument, inside out."""
    frames = situation.failure.user_frames
    for inner, outer in zip(reversed(frames), reversed(frames[:-1])):
        code = inner.site.code
        if name not in code.co_varnames[: code.co_argcount] or _is_rebound(name, inner.site):
            break
        call, source = call_at(outer.site), outer.site.source
        given = _given_as(name, code, call) if call is not None else None
        if given is None or source is None:
            break
        yield outer, given
        name = source.segment(given)


def _is_rebound(name: str, site: Site) -> bool:
    source = site.source
    function = source.function_at(site.code.co_firstlineno, site.code.co_name) if source is not None else None
    return function is None or any(name in names and _is_whole(name, node) for names, _, node in definitions(function))


def _given_as(name: str, code: CodeType, call: ast.Call) -> ast.expr | None:
    """The argument of a call that became the parameter ``name``."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    place = code.co_varnames.index(name)
    if code.co_varnames[:1] in (("self",), ("cls",)):
        place -= 1
    plain = not any(isinstance(argument, ast.Starred) for argument in call.args[: place + 1])
    return call.args[place] if plain and 0 <= place < len(call.args) else None


def head_of(source: text.SourceText, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Location:
    """The line of a ``def`` or ``class``, without its body."""
    whole = located(source, node)
    return replace(whole, end_line=whole.line, end_column=len(source.line(whole.line)) + 1)


def seen(subject: str, tensor: Any, **more: Scalar) -> Evidence:
    """What a tensor showed: its flag, shape, type and the node that it came from."""
    node = node_of(tensor)
    facts: dict[str, Scalar] = {
        "requires_grad": tensor.requires_grad,
        "shape": shape_of(tensor),
        "dtype": str(tensor.dtype),
    }
    if node is not None:
        facts["grad_fn"] = node.name()
    return Evidence(kind="tensor", subject=subject or "tensor", facts=facts | more)
