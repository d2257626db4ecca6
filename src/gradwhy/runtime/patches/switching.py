"""Modules that are switched as a whole: to training or evaluation, or to half precision, and by which line."""

from __future__ import annotations

import sys
import weakref
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from gradwhy.runtime.sites import Site, user_chain

if TYPE_CHECKING:
    from gradwhy.runtime.watch import Watch

_KEPT = 512
_TORCH_FILE = torch.nn.Module.train.__code__.co_filename


class Switched(NamedTuple):
    """One call: ``what`` is "train", "eval" or "half"; ``order`` is the journal's."""

    what: str
    module: weakref.ref[Any]
    chain: tuple[Site, ...]
    order: int

    def holds(self, parameter: Any) -> bool:
        """Whether the module, if it is still there, has this parameter."""
        module = self.module()
        return module is not None and any(each is parameter for each in torch.nn.Module.parameters(module))


class Switching:
    """The last switches; modules are held weakly."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.modes: deque[Switched] = deque(maxlen=_KEPT)
        self.casts: deque[Switched] = deque(maxlen=_KEPT)

    def mode(self, module: Any, training: bool, frame: FrameType) -> None:
        if frame.f_code.co_filename != _TORCH_FILE:
            self._add(self.modes, "train" if training else "eval", module, frame)

    def cast(self, module: Any, frame: FrameType) -> None:
        if frame.f_code.co_filename != _TORCH_FILE:
            self._add(self.casts, "half", module, frame)

    def _add(self, kept: deque[Switched], what: str, module: Any, frame: FrameType) -> None:
        chain = user_chain(frame, limit=8)
        if chain:
            kept.append(Switched(what, weakref.ref(module), chain, self._watch.journal.next_order()))


def _asks_for_half(args: Any, kwargs: Any) -> bool:
    for given in (*args, *kwargs.values()):
        if given is torch.float16 or (isinstance(given, torch.Tensor) and given.dtype is torch.float16):
            return True
    return False


def install(watch: Watch) -> Callable[[], None]:
    """Patch the methods of ``nn.Module``; what they did is in ``watch.switching``."""
    undo: list[Callable[[], None]] = []
    switching = watch.switching

    def trained(original: Any) -> Any:
        def train(module: Any, mode: bool = True) -> Any:
            watch._quietly(switching.mode, module, mode, sys._getframe(1))
            return original(module, mode)

        return train

    def evaluated(original: Any) -> Any:
        def eval(module: Any) -> Any:
            watch._quietly(switching.mode, module, False, sys._getframe(1))
            return original(module)

        return eval

    def halved(original: Any) -> Any:
        def half(module: Any) -> Any:
            watch._quietly(switching.cast, module, sys._getframe(1))
            return original(module)

        return half

    def moved(original: Any) -> Any:
        def to(module: Any, *args: Any, **kwargs: Any) -> Any:
            if _asks_for_half(args, kwargs):
                watch._quietly(switching.cast, module, sys._getframe(1))
            return original(module, *args, **kwargs)

        return to

    for name, make in (("train", trained), ("eval", evaluated), ("half", halved), ("to", moved), ("type", moved)):
        watch._replace(torch.nn.Module, name, make, undo)
    return lambda: watch._unpatch(undo)
