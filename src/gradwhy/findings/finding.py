"""One cause at one place of the user's program."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal, TypeAlias

from gradwhy.findings.evidence import Evidence
from gradwhy.findings.fix import Fix
from gradwhy.findings.location import Location
from gradwhy.findings.message import Message

Severity: TypeAlias = Literal["error", "warning", "note"]
Certainty: TypeAlias = Literal["proven", "likely"]
GradState: TypeAlias = Literal["leaf", "tracked", "frozen", "cut", "off", "number", "array", "plain", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One station on the way from the cut to where it surfaced; ``op`` is torch's name, "" where none is."""

    at: Location
    op: str = ""
    before: GradState = "unknown"
    after: GradState = "unknown"
    note: Message | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``at`` is what a person would change; ``surfaces_at`` where the fault showed.

    ``because_of`` is the fingerprint of the finding that this one follows from.
    """

    cause: str
    symptom: str | None
    engine: Literal["runtime", "static"]
    severity: Severity
    certainty: Certainty
    subject: str
    at: Location
    message: Message
    fingerprint: str
    surfaces_at: Location | None = None
    path: tuple[Step, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    fixes: tuple[Fix, ...] = ()
    related: tuple[Finding, ...] = ()
    because_of: str | None = None


def fingerprint(cause: str, at: Location, line_text: str) -> str:
    """A name for the finding that survives moved lines and is the same from each engine."""
    parts = (cause, at.file, at.function, " ".join(line_text.split()))
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "backslashreplace")).hexdigest()[:16]
