"""What was seen of the watched steps: passes, steps, clearing, clipping, modes. Lines, ids and numbers; no tensor is held."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from gradwhy.findings import ParameterState
from gradwhy.runtime.node_lines import Made
from gradwhy.runtime.sites import Site
from gradwhy.runtime.verdict import Verdict

Chain: TypeAlias = "tuple[Site, ...]"

_KEPT = 256
_NODES_KEPT = 32


@dataclass(slots=True)
class Pass:
    """One run of the engine. ``leaves`` are the ids of all leaf tensors of the graph, ``numbers`` torch's numbers of its nodes;
    ``wanted`` the ids of what ``inputs=`` named, None where all leaves were meant."""

    chain: Chain
    order: int
    leaves: frozenset[int]
    numbers: frozenset[int]
    wanted: frozenset[int] | None
    accumulates: bool
    begun: int
    """torch's number of the next node at the time."""
    inside_step: bool = False
    held: frozenset[int] = frozenset()
    """ids of the leaves that still held the gradient that an optimizer had used already."""
    empty: frozenset[int] = frozenset()
    """ids of the leaves that had no gradient before it, or one of zeros."""
    dropped: bool = False
    """What it gave was cleared before any optimizer used it."""
    used: bool = False
    """An optimizer stepped on something that it gave."""

    def fills(self, key: int) -> bool:
        """Whether the ``grad`` of a leaf gets something from this pass."""
        return self.accumulates and key in self.leaves and (self.wanted is None or key in self.wanted)


@dataclass(slots=True)
class Account:
    """One leaf over the watched steps of one optimizer; ``state`` and ``norm`` are those of the last."""

    key: int
    steps: int = 0
    counts: dict[ParameterState, int] = field(default_factory=dict)
    state: ParameterState = "none"
    norm: float = 0.0
    compared: int = 0
    """Steps whose values before and after were compared; the next three count among these."""
    changed: int = 0
    relative: float = 0.0
    frozen_changed: int = 0
    """Steps that changed it while it did not require grad."""
    all_zero: bool = False
    """Whether its values were all zero at its last step."""

    def note(self, state: ParameterState, norm: float) -> None:
        self.steps += 1
        self.counts[state] = self.counts.get(state, 0) + 1
        self.state, self.norm = state, norm

    def always(self, state: ParameterState) -> bool:
        return self.steps > 0 and self.counts.get(state, 0) == self.steps


@dataclass(slots=True)
class Step:
    """One completed step of an optimizer; ``fed``: how many of its parameters had a gradient."""

    optimizer: int
    chain: Chain
    order: int
    fed: int
    number: int
    """torch's number of the next node at the time."""
    scaled: bool = False
    """Called by a ``GradScaler``."""
    host: str = ""
    """What the caller is advised where a package steps that was to go backward before; see torchapi/hosts.toml."""
    carried: bool = False
    """Every pass since its last step added to gradients that this optimizer had used already."""


@dataclass(slots=True)
class Event:
    """A call that touched several tensors: ``zero_grad``, clipping, ``train()`` or ``eval()``."""

    kind: Literal["clear", "clip", "train", "eval"]
    chain: Chain
    order: int
    ids: frozenset[int]
    fed: int = 0
    """How many of them had a gradient that was not zero."""
    number: int = 0


@dataclass(slots=True)
class Mark:
    """A line that computed something worth a remark. ``numbers``: torch's numbers of the last nodes it made; ``backward``: the
    pass that went through one of them; ``facts``: what to say."""

    facts: dict[str, Any]
    numbers: set[int] = field(default_factory=set)
    backward: Chain = ()


@dataclass(frozen=True, slots=True)
class Zeroing:
    """A node whose backward was given a gradient and gave none on: ``node`` is torch's name of it, ``made`` its line."""

    node: str
    made: Made | None
    kind: Literal["operation", "operand", "cancels", "hook"]
    operand: int = 0
    """id of the all-zero leaf that it multiplies by, 0 where it is no leaf."""
    constant: bool = False
    """Multiplied by a plain 0 that the program wrote."""
    single: bool = False
    """Normalized over one element."""
    written: Site | None = None
    """The line that wrote the values which keep it at zero, such as a bias."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Why leaves got nothing from a pass that stood before a step."""

    verdict: Verdict
    fed: bool
    """Whether what came of the cut went into the loss."""
    backward: Chain
    step: Chain


class Ledger:
    """All that was noted, the last of each kind."""

    def __init__(self) -> None:
        self.passes: deque[Pass] = deque(maxlen=_KEPT)
        self.steps: deque[Step] = deque(maxlen=_KEPT)
        self.events: deque[Event] = deque(maxlen=4 * _KEPT)
        self.accounts: dict[tuple[int, int], Account] = {}
        """(optimizer's number, id of the leaf) -> its account."""
        self.reached: dict[int, int] = {}
        """id of a leaf -> the passes that fill its ``grad``."""
        self.marked: dict[str, dict[Site, Mark]] = {}
        """By kind: lines whose results were part of what went backward."""
        self.zeroed: dict[int, tuple[Zeroing, ...]] = {}
        self.lost: dict[int, Lost] = {}
        self.updates: dict[int, int] = {}
        """optimizer's number -> its completed steps."""

    def mark(self, kind: str, site: Site, number: int, facts: dict[str, Any]) -> None:
        """A line made a node that a fault wants to hear of again where it is differentiated."""
        mark = self.marked.setdefault(kind, {}).setdefault(site, Mark(facts))
        if not mark.backward:
            mark.numbers = {number}

    def add_pass(self, each: Pass) -> None:
        for marks in self.marked.values():
            for mark in marks.values():
                if not mark.backward and each.accumulates and mark.numbers & each.numbers:
                    mark.backward = each.chain
        self.passes.append(each)
        if len(self.passes) > _NODES_KEPT:
            self.passes[-_NODES_KEPT - 1].numbers = frozenset()
        for key in each.leaves:
            if each.fills(key):
                self.reached[key] = self.reached.get(key, 0) + 1

    def account(self, optimizer: int, key: int) -> Account:
        return self.accounts.setdefault((optimizer, key), Account(key))

    def events_between(self, kind: str, after: int, before: int) -> list[Event]:
        return [e for e in self.events if e.kind == kind and after < e.order < before]
