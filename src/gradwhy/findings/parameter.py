"""One row of the audit's table: what happened to a parameter in the steps that were watched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

ParameterState: TypeAlias = Literal["none", "zero", "finite", "not-finite"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """``steps`` of its optimizer were watched; in ``without`` of them no gradient had arrived.

    ``group``: which optimizer and parameter group hold it, "" for none. ``gradient``: its state at the last of these steps,
    and ``norm`` its 2-norm there. ``compared`` steps were looked at for a change, and ``changed`` of them changed it;
    ``relative`` is the norm of the last change, divided by the norm of the values.
    """

    name: str
    module: str
    shape: tuple[int, ...]
    requires_grad: bool
    group: str
    gradient: ParameterState
    norm: float
    compared: int
    changed: int
    relative: float
    steps: int
    without: int
    passes: int
    """Backward passes whose graph it was part of."""
