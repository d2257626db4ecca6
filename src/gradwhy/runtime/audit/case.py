"""All that a fault may look at when the watched steps are over, and how it tells what it found."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

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
from gradwhy.runtime.account import Place
from gradwhy.runtime.audit.calls import Calls
from gradwhy.runtime.audit.functions import CustomFunctions
from gradwhy.runtime.audit.ledger import Account, Chain, Ledger, Pass
from gradwhy.runtime.audit.masking import Masks
from gradwhy.runtime.audit.modules import Inspection
from gradwhy.runtime.audit.roster import Member, Roster
from gradwhy.runtime.audit.terms import Terms
from gradwhy.runtime.audit.wrapping import Wrapping
from gradwhy.runtime.sites import Site, located
from gradwhy.source import text

if TYPE_CHECKING:
    from gradwhy.runtime.watch import Watch


@dataclass(frozen=True, slots=True)
class Held:
    """One optimizer that was in use: where it was made, the ids it holds, and the options of the group of each."""

    number: int
    kind: str
    chain: Chain
    order: int
    ids: frozenset[int]
    options: Mapping[int, Mapping[str, Any]]


@dataclass(slots=True)
class Case:
    """Facts of one audit. ``claimed``: ids of the leaves that a finding has explained already."""

    watch: Watch
    ledger: Ledger
    roster: Roster
    inspection: Inspection
    terms: Terms
    masks: Masks
    calls: Calls
    functions: CustomFunctions
    wrapping: Wrapping
    optimizers: list[Held]
    claimed: set[int] = field(default_factory=set)

    # -- what is known

    def held_by(self, key: int) -> list[Held]:
        return [each for each in self.optimizers if key in each.ids]

    def members(self, ids: Iterable[int]) -> list[Member]:
        return [member for key in ids if (member := self.roster.members.get(key)) is not None]

    def accounts(self, number: int) -> Iterator[Account]:
        return (account for (optimizer, _), account in self.ledger.accounts.items() if optimizer == number)

    def passes_to(self, ids: Iterable[int]) -> list[Pass]:
        wanted = set(ids)
        return [p for p in self.ledger.passes if any(p.fills(key) for key in wanted)]

    def sources(self) -> Iterator[text.SourceText]:
        """The files of the program that were running."""
        # Where no optimizer steps, only the passes tell.
        files = self.roster.files or {site.file for each in self.ledger.passes for site in each.chain}
        for file in text.together(sorted(files)):
            if (source := text.read(file)) is not None and source.tree is not None:
                yield source

    def nodes(self, *kinds: type[ast.AST]) -> Iterator[tuple[text.SourceText, Any]]:
        """(file, node) of all syntax nodes of these kinds."""
        for source in self.sources():
            assert source.tree is not None
            for node in ast.walk(source.tree):
                if isinstance(node, kinds):
                    yield source, node

    def named_only(self, method: str) -> Place | None:
        """The first statement that names a method and does not call it: ``optimizer.step``."""
        for source, node in self.nodes(ast.Expr):
            if isinstance(node.value, ast.Attribute) and node.value.attr == method:
                return place_of(source, node.value)
        return None

    # -- telling

    def owner(self, ids: Iterable[int]) -> str:
        """What a person would call these leaves: the module that has them all, or the first of them."""
        names = [member.name for member in self.members(ids) if member.name]
        if not names:
            return ""
        if len(names) == 1:
            return names[0]
        parts = [name.split(".") for name in names]
        common: list[str] = []
        for column in zip(*parts):
            if len(set(column)) != 1:
                break
            common.append(column[0])
        return ".".join(common) or names[0]

    def called(self, ids: Iterable[int]) -> Argument:
        """The same for a sentence, also where nobody has a name for them."""
        owner = self.owner(ids)
        return Code(owner) if owner else Message("words.its-parameters")

    def finding(
        self,
        cause: str,
        symptom: str,
        place: Place,
        *,
        facts: Mapping[str, Argument] | None = None,
        key: str = "",
        advice: str | None = None,
        steps: Iterable[Step] = (),
        evidence: Iterable[Evidence] = (),
        certain: bool = True,
        severity: Severity = "error",
        surfaces: Site | None = None,
        headline: str = "",
    ) -> Finding:
        """One cause at one place; ``key`` chooses among its sentences, ``headline-<key>`` and ``advice-<key>``, or ``headline``
        gives the id of another."""
        filled: dict[str, Argument] = {"subject": Code(place.text), **(facts or {})}
        suffix = f"-{key}" if key else ""
        title = Message(f"{cause}.advice{suffix}" if advice is None else f"{cause}.{advice}", filled)
        source = text.read(place.at.file)
        stations = list(steps)
        if (place.at.file, place.at.line) not in {(s.at.file, s.at.line) for s in stations}:
            stations.append(Step(at=place.at, note=Message("words.here")))
        if surfaces is not None and (surfaces.location().line, surfaces.location().file) not in {
            (s.at.line, s.at.file) for s in stations
        }:
            stations.append(Step(at=surfaces.location(), note=Message("words.shows")))
        return Finding(
            cause=cause,
            symptom=symptom,
            engine="runtime",
            severity=severity,
            certainty="proven" if certain else "likely",
            subject=render.one_line(place.text, 200),
            at=place.at,
            surfaces_at=surfaces.location() if surfaces is not None else None,
            path=tuple(stations),
            message=Message(headline or f"{cause}.headline{suffix}", filled),
            evidence=tuple(evidence),
            fixes=(Fix(title=title, applicability="display"),),
            fingerprint=fingerprint(cause, place.at, source.line(place.at.line) if source is not None else ""),
        )


def at(site: Site) -> Place:
    """A site as the line to change."""
    return Place(site.location(), site.expression() or line_of(site.location()))


def line_of(location: Location) -> str:
    source = text.read(location.file)
    return source.line(location.line).strip() if source is not None else ""


def place_of(source: text.SourceText, node: ast.AST) -> Place:
    return Place(located(source, node), source.segment(node))
