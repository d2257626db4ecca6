"""A change to the program that is offered with a finding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from gradwhy.findings.message import Message

Applicability: TypeAlias = Literal["safe", "unsafe", "display"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Replace the text from (line, column) up to (end_line, end_column) of ``file`` by ``new_text``.

    Lines and columns count from 1, columns in code points, the end is exclusive. In a notebook lines count in ``cell``, the
    number of the cell among all cells; None elsewhere.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    new_text: str
    cell: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What one more run with the edits showed, up to the program's first complete step.

    ``trained`` of ``trainable`` parameters received a gradient; ``changed`` of them were changed by ``step()``.
    ``ended`` is True where the program came to its end without such a step; ``failure`` is what stopped it instead.
    """

    trained: int
    trainable: int
    changed: int
    ended: bool = False
    failure: str | None = None

    @property
    def passed(self) -> bool:
        return self.failure is None and (self.trained > 0 or self.ended)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """``safe`` keeps the meaning but for the fault, ``unsafe`` changes what is computed, ``display`` is advice.

    ``verification`` is None until the edits were tried.
    """

    title: Message
    applicability: Applicability
    edits: tuple[Edit, ...] = ()
    verification: Verification | None = None
