"""The journal of a run: who switched gradients off, who froze what, which optimizers exist, what went backward."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any, Literal, TypeAlias

from gradwhy.runtime.sites import Site, called_by, is_own_file, is_user_file, user_chain
from gradwhy.runtime.writes import memory_key, sequence_now

ScopeKind: TypeAlias = Literal["no_grad", "enable_grad", "set_grad_enabled", "inference_mode"]

_PASSES_KEPT = 512
_STEPS_KEPT = 512
_STACKS_KEPT = 16

# Frames that stand between a context manager's call and the person who wrote it.
_DECORATES = "torch/utils/_contextlib.py"
_MACHINERY = ("torch/autograd/grad_mode.py", _DECORATES, "torch/_C/", "contextlib.py")

_SHARDING = "/torch/distributed/fsdp/"


@dataclass(slots=True)
class GradScope:
    """One change of the grad mode that is still in force, or was."""

    kind: ScopeKind
    enables: bool
    owner: int
    chain: tuple[Site, ...]
    opener: Site | None
    under: GradScope | None
    entered: bool
    decorated: CodeType | None = None
    inside: tuple[Site, ...] = ()
    """The calls inside packages other than torch in which it was opened, from the inside out."""

    @property
    def left_open(self) -> bool:
        """Whether the mode was switched by a plain call, which nothing undoes."""
        return self.kind == "set_grad_enabled" and not self.entered


@dataclass(slots=True)
class FlagChange:
    """All writes of ``requires_grad`` that one line made with one value."""

    chain: tuple[Site, ...]
    value: bool
    order: int
    sequence: int = -1
    """The number of the next graph node at the last of them."""
    tensors: dict[int, bool] = field(default_factory=dict)
    """id of each tensor -> whether it was a Parameter."""
    inside: dict[tuple[tuple[int, int], ...], tuple[tuple[Site, ...], set[int]]] = field(default_factory=dict)
    """The calls inside a package that wrote it, from the inside out, with the ids of the tensors that each wrote."""

    @property
    def parameters(self) -> int:
        return sum(self.tensors.values())

    def wrote(self, tensor: int, stack: tuple[Site, ...]) -> None:
        key = tuple((id(site.code), site.lasti) for site in stack)
        if stack and (key in self.inside or len(self.inside) < _STACKS_KEPT):
            self.inside.setdefault(key, (stack, set()))[1].add(tensor)

    def stacks(self, ids: Collection[int]) -> tuple[tuple[Site, ...], ...]:
        """The calls inside packages that froze or released one of these tensors."""
        return tuple(stack for stack, written in self.inside.values() if not written.isdisjoint(ids))


@dataclass(slots=True)
class OptimizerRecord:
    """An optimizer that was made, held weakly; its parameters are those that it has now."""

    chain: tuple[Site, ...]
    reference: weakref.ref[Any]
    order: int

    def parameters(self) -> list[Any]:
        optimizer = self.reference()
        groups = getattr(optimizer, "param_groups", None) or []
        return [parameter for group in groups for parameter in group.get("params", ())]


@dataclass(frozen=True, slots=True)
class BackwardPass:
    """One ``backward()`` or ``autograd.grad()`` that went through. ``roots`` are the graph nodes that it began at, by
    torch's number, ``sequence`` the number that the next node got; ``kept`` says whether the graph was retained; ``times``
    how often this line had gone backward."""

    chain: tuple[Site, ...]
    roots: tuple[int, ...]
    sequence: int
    kept: bool
    order: int
    times: int

    @property
    def upto(self) -> int:
        """Every node that it can have passed has a number up to this."""
        return max(self.roots, default=-1)


@dataclass(frozen=True, slots=True)
class OptimizerStep:
    """One completed ``step()``; ``sequence`` is the number of the next graph node at the time."""

    chain: tuple[Site, ...]
    reference: weakref.ref[Any]
    sequence: int
    order: int

    def holds(self, key: int) -> bool:
        """Whether the optimizer has a parameter in the memory with that key (``writes.memory_key``)."""
        groups = getattr(self.reference(), "param_groups", None) or []
        return any(memory_key(parameter) == key for group in groups for parameter in group.get("params", ()))


class _Here(threading.local):
    scope: GradScope | None = None


class Journal:
    """Lines and counts only: no tensor is held, optimizers are held weakly."""

    def __init__(self) -> None:
        self._here = _Here()
        self.flags: dict[tuple[tuple[tuple[int, int], ...], bool], FlagChange] = {}
        self.optimizers: list[OptimizerRecord] = []
        self.backward: list[tuple[Site, ...]] = []
        self.passes: deque[BackwardPass] = deque(maxlen=_PASSES_KEPT)
        self.stepped: deque[OptimizerStep] = deque(maxlen=_STEPS_KEPT)
        self.steps = 0
        self.cleared: set[int] = set()
        self.device_moves: list[tuple[Site, ...]] = []
        self.stand_ins: dict[int, int] = {}
        """id of a parameter that a sharded one is computed with -> id of that one, which the model and the optimizer have."""
        self.order = 0
        self._times: dict[tuple[tuple[int, int], ...], int] = {}
        self._unwound: tuple[int, GradScope | None] = (0, None)

    def next_order(self) -> int:
        self.order += 1
        return self.order

    def key(self, tensor: Any) -> int:
        """The id by which a parameter is known."""
        return self.stand_ins.get(id(tensor), id(tensor))

    def became(self, old: Any, new: Any) -> None:
        """A parameter that another one takes the place of, in its model and here."""
        for change in self.flags.values():
            if id(old) in change.tensors:
                change.tensors[id(new)] = change.tensors.pop(id(old))

    # -- grad mode

    @property
    def scope(self) -> GradScope | None:
        """The scope in force in this thread: torch keeps the grad mode by thread."""
        return self._here.scope

    @scope.setter
    def scope(self, scope: GradScope | None) -> None:
        self._here.scope = scope

    def open_scope(self, kind: ScopeKind, owner: object, enables: bool, frame: FrameType | None, entered: bool) -> None:
        opener, decorated = _opener(frame)
        under = self.scope
        if not entered and under is not None and under.left_open and opener is not None and under.opener is not None:
            before = under.under
            if under.opener.code is opener.code and enables == (before.enables if before else True):
                # The same function puts back what it had switched: the pair is over.
                self.scope = before
                return
            if before is not None and before.left_open:
                under.under = before.under
        self.scope = GradScope(
            kind=kind,
            enables=enables,
            owner=id(owner),
            chain=user_chain(frame),
            opener=opener,
            under=under,
            entered=entered,
            decorated=decorated,
            inside=_inside_a_package(frame),
        )

    def enter_scope(self, owner: object) -> None:
        if self.scope is not None and self.scope.owner == id(owner):
            self.scope.entered = True

    def close_scope(self, owner: object, error: object = None) -> None:
        scope = self.scope
        if error is not None and self._unwound[0] != id(error):
            self._unwound = (id(error), scope)
        while scope is not None and scope.owner != id(owner):
            scope = scope.under
        if scope is not None:
            self.scope = scope.under

    def inference_scope(self) -> GradScope | None:
        """The innermost block that inference mode is on for, whatever was opened inside of it."""
        scope = self.scope
        while scope is not None and scope.kind != "inference_mode":
            scope = scope.under
        return scope if scope is not None and not scope.enables else None

    def scope_at(self, error: object) -> GradScope | None:
        """The scope that was in force where an exception was raised, although it has left the block since."""
        return self._unwound[1] if self._unwound[0] == id(error) else self.scope

    def forget_unwound(self) -> None:
        """The last exception is dealt with; another may get its id."""
        self._unwound = (0, None)

    # -- the rest

    def flag_changed(self, tensor: Any, value: bool, is_parameter: bool, frame: FrameType | None) -> None:
        if frame is not None and _SHARDING in frame.f_code.co_filename.replace("\\", "/"):
            # A sharded parameter's flag is handed on to the one that is computed with.
            return
        # The same helper called from elsewhere is another change: the call is what a person would edit.
        chain = user_chain(frame)
        if not chain:
            return
        key = (tuple((id(site.code), site.lasti) for site in chain), value)
        change = self.flags.setdefault(key, FlagChange(chain, value, 0))
        change.order, change.sequence = self.next_order(), sequence_now()
        change.tensors[self.key(tensor)] = is_parameter
        change.wrote(self.key(tensor), _inside_a_package(frame))

    def optimizer_made(self, optimizer: object, frame: FrameType | None) -> None:
        self.optimizers = [record for record in self.optimizers if record.reference() is not None]
        self.optimizers.append(OptimizerRecord(user_chain(frame), weakref.ref(optimizer), self.next_order()))

    def optimizer_cleared(self, optimizer: object) -> None:
        """``zero_grad`` tells which optimizer the next ``backward`` is meant for."""
        self.cleared.add(id(optimizer))

    def cleared_parameters(self) -> set[int]:
        """ids of the parameters of the optimizers that were cleared since the last ``backward``."""
        chosen = [record for record in self.optimizers if id(record.reference()) in self.cleared]
        return {id(parameter) for record in chosen for parameter in record.parameters()}

    def knows_backward(self, frame: FrameType | None) -> bool:
        """Whether the same line went backward before."""
        return user_chain(frame, limit=8) in self.backward[-8:]

    def differentiated(self, frame: FrameType | None, roots: tuple[int, ...], kept: bool) -> None:
        """A pass that went through the graph below the nodes ``roots``."""
        chain = user_chain(frame, limit=8)
        key = tuple((id(site.code), site.lasti) for site in chain)
        self._times[key] = times = self._times.get(key, 0) + 1
        self.passes.append(BackwardPass(chain, roots, sequence_now(), kept, self.next_order(), times))

    def optimizer_stepped(self, optimizer: object, frame: FrameType | None) -> None:
        self.steps += 1
        chain = user_chain(frame, limit=8)
        self.stepped.append(OptimizerStep(chain, weakref.ref(optimizer), sequence_now(), self.next_order()))

    def went_backward(self, frame: FrameType | None, roots: tuple[int, ...] = (), kept: bool = False) -> None:
        self.cleared.clear()
        self.differentiated(frame, roots, kept)
        chain = user_chain(frame, limit=8)
        if chain not in self.backward[-8:]:
            self.backward = [*self.backward[-31:], chain]

    def device_moved(self, frame: FrameType | None) -> None:
        caller = called_by(frame)
        # A trainer moves each batch: that is nobody's doubt.
        if len(self.device_moves) < 8 and caller is not None and is_user_file(caller.f_code.co_filename):
            self.device_moves.append(user_chain(frame, limit=8))


def _opener(frame: FrameType | None) -> tuple[Site | None, CodeType | None]:
    """Who opened a scope: the first frame that isn't torch's own machinery, and the function that it decorates."""
    decorated: CodeType | None = None
    while frame is not None:
        filename = frame.f_code.co_filename.replace("\\", "/")
        if not is_own_file(frame.f_code.co_filename) and not any(part in filename for part in _MACHINERY):
            return Site(frame.f_code, frame.f_lasti), decorated
        # The wrapper's name is the grad mode's from torch 2.15 on. (torch/utils/_contextlib.py)
        if decorated is None and filename.endswith(_DECORATES) and "func" in frame.f_code.co_freevars:
            function: Callable[..., Any] | None = frame.f_locals.get("func")
            decorated = getattr(_unwrapped(function), "__code__", None)
        frame = frame.f_back
    return None, decorated


def _inside_a_package(frame: FrameType | None, limit: int = 24) -> tuple[Site, ...]:
    """The frames between a call and the user's own, torch's and ours left out."""
    stack: list[Site] = []
    while frame is not None and len(stack) < limit and not is_user_file(frame.f_code.co_filename):
        name = frame.f_code.co_filename.replace("\\", "/")
        if "/torch/" not in name and not is_own_file(frame.f_code.co_filename):
            stack.append(Site(frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(stack)


def _unwrapped(function: Any) -> Any:
    for _ in range(32):
        inner = getattr(function, "__wrapped__", None)
        if inner is None:
            return function
        function = inner
    return function
