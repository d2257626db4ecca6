"""Histories: what a value was made of, whether a gradient passes, and the modes that switch recording."""

from __future__ import annotations

import ast
import itertools
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from gradwhy.static.flow.frames import Frame
    from gradwhy.static.flow.values import Tensor

Fields = dict[Any, Any]
_serials = itertools.count()


ALL: Final = "all"
"""The name of a history that stands for each of many: the items of a list that grew in a loop."""
NO: Final = 0
MAYBE: Final = 1
YES: Final = 2


def now() -> int:
    """A number between those of the histories made before and after."""
    return next(_serials)


class Value:
    """Anything that a name can hold."""

    __slots__ = ()


class Flow:
    """One station of a value's history: what made it, of what, and whether it has a gradient path.

    ``kind``: "op", "cut" (an operation that dropped the path), "off" (computed while recording was off; ``at`` is what
    switched it off), "leaf", "frozen", "plain", "join" (one or the other), "unknown".
    """

    __slots__ = (
        "at",
        "cause",
        "frame",
        "grad",
        "inference",
        "inputs",
        "inside",
        "kind",
        "layer",
        "name",
        "op",
        "owner",
        "serial",
        "side",
    )

    def __init__(
        self,
        kind: str,
        grad: int,
        at: ast.AST | None = None,
        frame: Frame | None = None,
        inputs: tuple[Flow, ...] = (),
        cause: str = "",
        owner: Tensor | None = None,
        op: ast.AST | None = None,
        side: tuple[Flow, ...] = (),
        name: str = "",
    ) -> None:
        self.serial = next(_serials)
        """Counts histories in the order in which they were made."""
        self.inside: Frame | None = None
        """The call that ``op`` was interpreted in, where ``at`` is in another: the block that switched recording off."""
        self.inference: GradMode | None = None
        """The inference mode that it was made in."""
        self.layer: ast.AST | None = None
        """Where the layer was made that gave it, one inside of a ``Sequential`` that ``at`` calls."""
        self.name = name
        """torch's name for the operation, or Python's sign for it; "" where it isn't known."""
        self.kind = kind
        self.grad = grad
        self.at = at
        self.frame = frame
        self.inputs = inputs
        self.cause = cause
        self.owner = owner
        self.op = op
        # Inputs that want no gradient: targets, indices, masks.
        self.side = side

    def __repr__(self) -> str:
        return f"<{self.kind} {('no', 'maybe', 'yes')[self.grad]} {self.cause}>"


UNKNOWN_FLOW: Final = Flow("unknown", MAYBE)
PLAIN: Final = Flow("plain", NO)


def joined_grad(flows: tuple[Flow, ...] | list[Flow]) -> int:
    """Whether a value computed from these has a path: one that has it is enough."""
    grad = NO
    for flow in flows:
        if flow.grad > grad:
            grad = flow.grad
    return grad


class GradMode(Value):
    """A context that switches recording: ``on`` is True, False, or None where it isn't known."""

    __slots__ = ("at", "before", "cause", "frame", "on")

    def __init__(self, on: bool | None, cause: str, at: ast.AST | None, frame: Frame | None) -> None:
        self.before: GradMode | Literal["kept"] = "kept"
        """The mode before the call that made this one, where the call itself has switched."""
        self.on = on
        self.cause = cause
        self.at = at
        self.frame = frame


DEFAULT_MODE: Final = GradMode(True, "", None, None)
"""Recording as torch starts with it."""
