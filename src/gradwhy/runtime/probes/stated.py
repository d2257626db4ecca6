"""Failures that torch's own words explain: the line, and what to do, from the entries of the catalogue that list them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from gradwhy.catalog import stated
from gradwhy.catalog.stated import Stated
from gradwhy.findings import Argument, Code, Finding, Message, Step
from gradwhy.runtime import account, graph, verdict, written
from gradwhy.runtime.account import Place
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.lifetime import made
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.sites import Site, located

SYMPTOM = "stated"
"""Stands for the symptom of the entry that lists the message."""


def symptom(failure: Failure) -> str:
    """What the entry calls it."""
    found = _of(failure)
    return found.symptom if found is not None else ""


def matches(failure: Failure) -> bool:
    return _of(failure) is not None


def _of(failure: Failure) -> Stated | None:
    return stated.of(type(failure.error).__name__, failure.text) if failure.error is not None else None


def diagnose(situation: Situation) -> list[Finding]:
    found, surface = _of(situation.failure), situation.failure.surface
    if found is None or surface is None:
        return []
    failing = _failing(surface.site)
    place = _place(found, situation)
    said = found.pattern.search(situation.failure.text)
    facts: dict[str, Argument] = {name: Code(text or "") for name, text in (said.groupdict() if said else {}).items()}
    facts["failing"] = Code(failing.text)
    suffix = f"-{found.key}" if found.key else ""
    at = place or failing
    return [
        account.finding(
            situation,
            found.symptom,
            found.cause,
            at.at,
            at.text,
            facts=facts,
            headline=f"headline{suffix}",
            advice=f"advice{suffix}",
            steps=[Step(at=at.at, note=Message("words.here"))] if place is not None else [],
            # torch states what is wrong; a line that was only searched for in the source is a guess.
            certain=place is None or found.line.startswith(("node", "grad-mode", "backward")),
        )
    ]


def _failing(site: Site) -> Place:
    """The failing expression; the whole assignment where setting an attribute is what failed."""
    node, source = site.node(), site.source
    statement = account.statement_of(site)
    if (
        isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and statement is not None
        and source is not None
    ):
        return Place(located(source, statement), source.segment(statement))
    return Place.of(site)


def _place(found: Stated, situation: Situation) -> Place | None:
    """The line that an entry asks for, None where it can't be told."""
    kind, _, argument = found.line.partition(" ")
    return _LINES[kind](argument, situation) if kind else None


def _of_node(pattern: str, situation: Situation) -> Place | None:
    walk = graph.nodes(situation.failure.differentiated() or [])
    nodes = [node for node in walk if re.search(pattern, node.name())]
    lines = {known.site: None for node in nodes if (known := made(node, situation.watch.recorder)) is not None}
    return Place.of(next(iter(lines))) if len(lines) == 1 else None


def _of_call(name: str, situation: Situation) -> Place | None:
    return _only(situation, lambda node: account.called(node) == name)


def _of_keyword(name: str, situation: Situation) -> Place | None:
    return _only(situation, lambda node: any(_is_on(keyword, name) for keyword in node.keywords))


def _of_grad_mode(_: str, situation: Situation) -> Place | None:
    journal, surface = situation.watch.journal, situation.failure.surface
    scope = journal.scope_at(situation.failure.error)
    if scope is None or scope.enables or surface is None:
        return None
    found = verdict.of_scope(scope, surface.site)
    return Place(found.at, found.subject) if found is not None else None


def _of_freezing(_: str, situation: Situation) -> Place | None:
    changes = [c for c in situation.watch.journal.flags.values() if not c.value and c.parameters and c.chain]
    last = max(changes, key=lambda change: change.order, default=None)
    return Place.of(last.chain[0]) if last is not None else None


def _of_backward(_: str, situation: Situation) -> Place | None:
    """The user's call that went backward, where the failure is in what that ran: a recomputation, a hook."""
    frames = situation.failure.frames
    calls = [outer for outer, inner in zip(frames, frames[1:]) if outer.is_users and _is_autograds(inner.site.file)]
    return Place.of(calls[-1].site) if calls else None


def _is_autograds(file: str) -> bool:
    return file.replace("\\", "/").endswith(("torch/_tensor.py", "torch/autograd/__init__.py"))


_LINES: dict[str, Callable[[str, Situation], Place | None]] = {
    "node": _of_node,
    "call": _of_call,
    "keyword": _of_keyword,
    "grad-mode": _of_grad_mode,
    "frozen": _of_freezing,
    "backward": _of_backward,
}


def _is_on(keyword: ast.keyword, name: str) -> bool:
    return keyword.arg == name and isinstance(keyword.value, ast.Constant) and keyword.value.value is True


def _only(situation: Situation, is_wanted: Callable[[ast.Call], bool]) -> Place | None:
    """The one call of that kind in the user's files that are on the stack."""
    found = list(_calls(situation, is_wanted))
    return found[0] if len(found) == 1 else None


def _calls(situation: Situation, is_wanted: Callable[[ast.Call], bool]) -> Iterator[Place]:
    for source in written.sources(situation):
        for node in ast.walk(source.tree) if source.tree is not None else ():
            if isinstance(node, ast.Call) and is_wanted(node):
                yield Place(located(source, node), source.segment(node))
