"""Models that are wrapped for data parallel training: whether the wrapper's own ``forward`` ever ran."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.parallel import DistributedDataParallel

from gradwhy.runtime.sites import Site, user_chain, user_frame

if TYPE_CHECKING:
    from gradwhy.runtime.watch import Watch


class Wrapping:
    """``wrapped``: ids of the parameters of wrapped models -> the line that wrapped; ``forwards``: how often a wrapper ran with
    gradients on; ``passes``: the lines of the passes that reached such parameters."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.wrapped: dict[int, Site] = {}
        self.forwards = 0
        self.passes: list[tuple[Site, ...]] = []

    def install(self, undo: list[Callable[[], None]]) -> None:
        self._watch._replace(DistributedDataParallel, "__init__", self._making, undo)
        self._watch._replace(DistributedDataParallel, "forward", self._running, undo)

    def _making(self, original: Any) -> Any:
        def __init__(wrapper: Any, *args: Any, **kwargs: Any) -> None:
            original(wrapper, *args, **kwargs)
            self._watch._quietly(self._take, wrapper, sys._getframe(1))

        return __init__

    def _take(self, wrapper: Any, frame: Any) -> None:
        user = user_frame(frame)
        if user is not None:
            site = Site(user.f_code, user.f_lasti)
            self.wrapped |= {id(p): site for p in torch.nn.Module.parameters(wrapper) if p.requires_grad}

    def _running(self, original: Any) -> Any:
        def forward(wrapper: Any, *args: Any, **kwargs: Any) -> Any:
            self.forwards += torch.is_grad_enabled()
            return original(wrapper, *args, **kwargs)

        return forward

    def went(self, leaves: Collection[int], chain: tuple[Site, ...]) -> None:
        """A pass reached these leaves."""
        if self.wrapped and len(self.passes) < 64 and not self.wrapped.keys().isdisjoint(leaves):
            self.passes.append(chain or user_chain(sys._getframe(1)))
