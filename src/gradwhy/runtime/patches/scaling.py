"""``GradScaler``: which of its methods were called for which optimizer, in which order, and who cleared gradients between."""

from __future__ import annotations

import sys
import weakref
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.amp import grad_scaler
from torch.optim import Optimizer

from gradwhy.runtime.sites import Site, user_chain

if TYPE_CHECKING:
    from gradwhy.runtime.watch import Watch

_KEPT = 1_024
_METHODS = ("scale", "unscale_", "step", "update")


class ScalerCall(NamedTuple):
    """One completed call. ``optimizer`` is its id, 0 for a call without one; ``order`` is the journal's."""

    method: str
    scaler: int
    optimizer: int
    chain: tuple[Site, ...]
    order: int


class Cleared(NamedTuple):
    """One ``zero_grad()``: the parameters that it cleared are those of ``owner`` now."""

    owner: weakref.ref[Any]
    chain: tuple[Site, ...]
    order: int

    def holds(self, parameters: set[int]) -> bool:
        """Whether one of the parameters with these ids was cleared."""
        owner = self.owner()
        if isinstance(owner, Optimizer):
            return any(id(p) in parameters for group in owner.param_groups for p in group.get("params", ()))
        if isinstance(owner, torch.nn.Module):
            return any(id(p) in parameters for p in torch.nn.Module.parameters(owner))
        return False


class Scaling:
    """The calls of all scalers, the last ones; nothing of the program is held."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.calls: deque[ScalerCall] = deque(maxlen=_KEPT)
        self.cleared: deque[Cleared] = deque(maxlen=_KEPT)

    def note(self, method: str, scaler: Any, optimizer: Any, frame: FrameType) -> None:
        chain = user_chain(frame, limit=8)
        # step() calls unscale_() itself, in torch's own file.
        if chain and frame.f_code.co_filename != grad_scaler.__file__ and getattr(scaler, "_enabled", False):
            key = id(optimizer) if isinstance(optimizer, Optimizer) else 0
            self.calls.append(ScalerCall(method, id(scaler), key, chain, self._watch.journal.next_order()))

    def clear(self, owner: Any, frame: FrameType) -> None:
        chain = user_chain(frame, limit=8)
        if chain:
            self.cleared.append(Cleared(weakref.ref(owner), chain, self._watch.journal.next_order()))

    def of(self, scaler: Any, optimizer: Any = None) -> list[ScalerCall]:
        """The calls of one scaler since its last ``update``, those for one optimizer only where one is given."""
        found: list[ScalerCall] = []
        for call in reversed(self.calls):
            if call.scaler == id(scaler):
                if call.method == "update":
                    break
                if optimizer is None or call.optimizer in (0, id(optimizer)):
                    found.append(call)
        return found[::-1]


def install(watch: Watch) -> Callable[[], None]:
    """Patch the scaler's methods and ``zero_grad``; what they did is in ``watch.scaling``."""
    undo: list[Callable[[], None]] = []

    def noted(name: str) -> Callable[[Any], Any]:
        def make(original: Any) -> Any:
            def method(scaler: Any, *args: Any, **kwargs: Any) -> Any:
                result = original(scaler, *args, **kwargs)
                optimizer = args[0] if args else kwargs.get("optimizer")
                watch._quietly(watch.scaling.note, name, scaler, optimizer, sys._getframe(1))
                return result

            return method

        return make

    def clearing(original: Any) -> Any:
        def zero_grad(owner: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(owner, *args, **kwargs)
            watch._quietly(watch.scaling.clear, owner, sys._getframe(1))
            return result

        return zero_grad

    for name in _METHODS:
        watch._replace(grad_scaler.GradScaler, name, noted(name), undo)
    watch._replace(Optimizer, "zero_grad", clearing, undo)
    watch._replace(torch.nn.Module, "zero_grad", clearing, undo)
    return lambda: watch._unpatch(undo)
