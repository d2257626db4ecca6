"""What happened in a run of a combination: plain values, as they are stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Stage: TypeAlias = Literal["before", "call", "again"]

# A tensor is written as "(3,) float32 requires_grad zeros", None as "None"; lists and dicts of them keep their form.
Shape: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Step:
    """One part of the program: what it raised and warned of, or what it gave."""

    stage: Stage
    raised: tuple[str, str] | None = None
    """The class and the text of the exception."""
    returned: Shape = None
    """What ``torch.autograd.grad`` or ``torch.func.grad`` gave."""
    filled: Mapping[str, Shape] | None = None
    """What was in ``.grad`` after a ``backward``: of the inputs, and of the parameter ``w``."""
    warned: tuple[tuple[str, str], ...] = ()

    def wire(self) -> dict[str, Any]:
        """As JSON has it; what is not there is left out."""
        data: dict[str, Any] = {"stage": self.stage}
        if self.raised is not None:
            data["raised"] = list(self.raised)
        elif self.filled is not None:
            data["filled"] = dict(self.filled)
        elif self.returned is not None:
            data["returned"] = self.returned
        if self.warned:
            data["warned"] = [list(each) for each in self.warned]
        return data


@dataclass(frozen=True, slots=True)
class Outcome:
    """The steps that were run, in order: up to two calls, or a program that fails before it calls."""

    steps: tuple[Step, ...]

    @property
    def last(self) -> Step:
        return self.steps[-1]

    @property
    def decisive(self) -> Step:
        """The first step that raised, else the first call."""
        return next((step for step in self.steps if step.raised), self.steps[0])

    def wire(self) -> list[dict[str, Any]]:
        """As JSON has it."""
        return [step.wire() for step in self.steps]


def read(data: list[dict[str, Any]]) -> Outcome:
    """The outcome that ``wire`` wrote."""
    return Outcome(
        tuple(
            Step(
                each["stage"],
                tuple(each["raised"]) if "raised" in each else None,
                each.get("returned"),
                each.get("filled"),
                tuple(tuple(warning) for warning in each.get("warned", ())),
            )
            for each in data
        )
    )
