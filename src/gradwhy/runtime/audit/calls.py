"""Calls that matter to training and that no graph shows: clearing, clipping, modes, hooks, loading, who made and took in what."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import FrameType, GeneratorType
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.utils import clip_grad
from torch.optim import Optimizer

from gradwhy.runtime.audit.gradients import parameters_of, states_of
from gradwhy.runtime.audit.ledger import Event, Ledger
from gradwhy.runtime.records import drop_oldest
from gradwhy.runtime.sites import Site, user_chain, user_frame
from gradwhy.runtime.writes import sequence_now

if TYPE_CHECKING:
    from gradwhy.runtime.watch import Watch

_PLACES_KEPT = 20_000


class Calls:
    """``registered``: id of a parameter -> the journal's count when a module took it in; ``built``: id of a module -> the line
    that made it; ``hooks``: id of a tensor -> the line that put a hook on it; ``loaded``: ids of modules whose
    values were loaded."""

    def __init__(self, watch: Watch, ledger: Ledger) -> None:
        self._watch = watch
        self._ledger = ledger
        self.registered: dict[int, int] = {}
        self.built: dict[int, Site] = {}
        self.hooks: dict[int, Site] = {}
        self.loaded: set[int] = set()

    def install(self, undo: list[Callable[[], None]]) -> None:
        """Wrap the methods and functions; ``undo`` gets what takes that back."""
        replace = self._watch._replace
        for owner in (Optimizer, torch.nn.Module):
            replace(owner, "zero_grad", self._clearing, undo)
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            for place in (clip_grad, torch.nn.utils):
                replace(place, name, self._clipping, undo)
        for owner, name, make in (
            (torch.nn.Module, "train", self._switching),
            (torch.nn.Module, "register_parameter", self._registering),
            (torch.nn.Module, "__init__", self._building),
            (torch.nn.Module, "load_state_dict", self._loading),
            (torch.Tensor, "register_hook", self._hooking),
        ):
            replace(owner, name, make, undo)

    def _clearing(self, original: Any) -> Any:
        def zero_grad(owner: Any, *args: Any, **kwargs: Any) -> Any:
            if self._watch.recording:
                self._watch._quietly(self._note, "clear", _parameters_in(owner), sys._getframe(1))
            return original(owner, *args, **kwargs)

        return zero_grad

    def _clipping(self, original: Any) -> Any:
        def clip(parameters: Any, *args: Any, **kwargs: Any) -> Any:
            given = parameters
            if isinstance(parameters, GeneratorType):
                # It can be read once only: torch gets one of its own, and warns of an empty one as ever.
                given = list(parameters)
                parameters = (each for each in given)
            if self._watch.recording and isinstance(given, (list, tuple, torch.Tensor)):
                held = [given] if isinstance(given, torch.Tensor) else list(given)
                self._watch._quietly(self._note, "clip", held, sys._getframe(1))
            return original(parameters, *args, **kwargs)

        return clip

    def _switching(self, original: Any) -> Any:
        own = getattr(inspect.unwrap(original), "__code__", None)

        def train(module: Any, mode: bool = True) -> Any:
            frame = sys._getframe(1)
            # A module switches its children itself.
            if self._watch.recording and frame.f_code is not own:
                self._watch._quietly(self._mode, module, bool(mode), frame)
            return original(module, mode)

        return train

    def _registering(self, original: Any) -> Any:
        def register_parameter(module: Any, name: str, param: Any) -> None:
            original(module, name, param)
            if param is not None:
                self.registered[id(param)] = self._watch.journal.next_order()

        return register_parameter

    def _building(self, original: Any) -> Any:
        def __init__(module: Any, *args: Any, **kwargs: Any) -> None:
            original(module, *args, **kwargs)
            self._watch._quietly(self._place, self.built, module, sys._getframe(1))

        return __init__

    def _hooking(self, original: Any) -> Any:
        def register_hook(tensor: Any, hook: Any) -> Any:
            handle = original(tensor, hook)
            self._watch._quietly(self._place, self.hooks, tensor, sys._getframe(1))
            return handle

        return register_hook

    def _place(self, places: dict[int, Site], held: Any, frame: FrameType) -> None:
        user = user_frame(frame)
        if user is not None:
            drop_oldest(places, _PLACES_KEPT)
            places[id(held)] = Site(user.f_code, user.f_lasti)

    def _loading(self, original: Any) -> Any:
        def load_state_dict(module: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(module, *args, **kwargs)
            self._watch._quietly(lambda: self.loaded.update(id(m) for m in torch.nn.Module.modules(module)))
            return result

        return load_state_dict

    def _mode(self, module: Any, mode: bool, frame: FrameType) -> None:
        ids = frozenset(id(inner) for inner in torch.nn.Module.modules(module))
        event = Event("train" if mode else "eval", user_chain(frame, limit=8), self._watch.journal.next_order(), ids)
        self._ledger.events.append(event)

    def _note(self, kind: Any, parameters: list[Any], frame: FrameType) -> None:
        chain = user_chain(frame, limit=8)
        if not chain:
            return
        with torch._C.DisableTorchFunction():
            fed = sum(state not in ("none", "zero") for state, _ in states_of(parameters))
        ids = frozenset(map(id, parameters))
        order = self._watch.journal.next_order()
        if kind == "clear":
            last_step = max((s.order for s in self._ledger.steps), default=-1)
            for each in self._ledger.passes:
                if each.accumulates and each.order > last_step and not each.used and each.leaves & ids:
                    each.dropped = True
        self._ledger.events.append(Event(kind, chain, order, ids, fed, sequence_now()))


def _parameters_in(owner: Any) -> list[Any]:
    return parameters_of(owner) if isinstance(owner, Optimizer) else list(torch.nn.Module.parameters(owner))
