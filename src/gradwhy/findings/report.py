"""Everything that one look at a program found, examined and skipped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from gradwhy.findings.finding import Finding
from gradwhy.findings.location import Location
from gradwhy.findings.message import Message
from gradwhy.findings.parameter import Parameter

SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The best finding comes first. ``notes`` say what the tool could not do, its own failures included.

    ``examined`` counts what was looked at: an empty report is a claim too.
    """

    findings: tuple[Finding, ...] = ()
    examined: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    skipped: tuple[tuple[Location, Message], ...] = ()
    notes: tuple[Message, ...] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    parameters: tuple[Parameter, ...] = ()
    """The audit's table; empty in other reports."""
