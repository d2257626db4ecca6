"""Where the interpretation stands: functions being run, loops, and the events that rules look at."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from gradwhy.static.flow.histories import Fields, Flow, GradMode, Value, now
from gradwhy.static.flow.trail import Changes
from gradwhy.static.flow.values import Optimizer, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable


class Frame:
    """A call of a function. ``call`` is the node of the call, in ``parent``."""

    __slots__ = (
        "born", "call", "cls", "env", "globals_", "loops", "mark", "name", "nest", "node", "on_yield", "parent", "receiver",
        "returns",
        "scopes", "withs", "yield_mode", "yields",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        env: Fields,
        scopes: tuple[Fields, ...],
        parent: Frame | None,
        call: ast.AST | None,
        mark: int,
    ) -> None:
        self.name = name
        self.env = env
        self.scopes = scopes
        self.parent = parent
        self.call = call
        self.mark = mark
        self.born = now()
        self.node: ast.AST | None = None
        self.nest = 0
        """How many branches and loops of the function are being run."""
        self.returns: list[tuple[Changes | None, Value]] = []
        """The outcomes of ``return``: None for the state as it is, where nothing of the function comes after it."""
        self.yields: list[Value] = []
        self.yield_mode: GradMode | None = None
        self.withs: list[GradMode] = []
        self.loops: list[Loop] = []
        self.cls: Value | None = None
        self.receiver: Value | None = None
        self.on_yield: Callable[[Value], None] | None = None
        self.globals_: dict[str, Fields] = {}


class Stepped(NamedTuple):
    """The last step of an optimizer that changed a tensor, and what had been made by then."""

    serial: int
    node: ast.AST
    frame: Frame


class Loop:
    """A loop that is being run: the outcomes of ``break`` and ``continue``."""

    __slots__ = ("born", "breaks", "continues", "mark", "start", "start_born", "withs")

    def __init__(self, mark: int, withs: int) -> None:
        self.mark = mark
        self.born = self.start_born = now()
        self.start = mark
        self.withs = withs
        self.breaks: list[Changes] = []
        self.continues: list[Changes] = []


@dataclass(slots=True, eq=False)
class Event:
    """Something that a rule may want to know of. ``kind`` says what; the other fields depend on it."""

    kind: str
    at: ast.AST
    frame: Frame
    flow: Flow | None = None
    subject: str = ""
    tensors: tuple[Tensor, ...] = ()
    optimizer: Optimizer | None = None
    value: Value | None = None
    other: ast.AST | None = None
    facts: dict[str, Any] = field(default_factory=dict)
