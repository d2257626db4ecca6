"""``DistributedDataParallel``: who wrapped a model, in which order it counts the parameters, and what a forward pass used."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.parallel import DistributedDataParallel

from gradwhy.runtime.sites import Site, user_chain
from gradwhy.runtime.trails import Trail
from gradwhy.runtime.writes import sequence_now

if TYPE_CHECKING:
    from gradwhy.runtime.watch import Watch


TRACED = True


class Wrapped:
    """One wrapped model: ids of its parameters in the order of the reducer's indices, and its last forward pass."""

    def __init__(self, chain: tuple[Site, ...], order: int, parameters: tuple[int, ...]) -> None:
        self.chain = chain
        self.order = order
        self.parameters = parameters
        self.forward: Trail | None = None
        """The last forward pass that was seen; None where it was not recorded."""
        self.called: tuple[Site, ...] = ()
        self.began = order
        self.started = self.ended = -1
        """The number of the next graph node when the last forward pass began, and when it was over."""
        self.ever_used: set[int] = set()
        self.forwards = 0
        """Forward passes with gradients."""


class Parallel:
    """The wrapped models that are alive, held weakly."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.models: weakref.WeakKeyDictionary[Any, Wrapped] = weakref.WeakKeyDictionary()

    def wrapped(self, model: Any, frame: FrameType) -> None:
        parameters = tuple(id(p) for _, p in counted(model))
        self.models[model] = Wrapped(user_chain(frame), self._watch.journal.next_order(), parameters)

    def begin(self, model: Any, frame: FrameType) -> None:
        known = self.models.get(model)
        if known is None:
            return
        self._drop(known.forward)
        if known.forward is not None:
            known.ever_used |= known.forward.parameters.keys()
        known.called, known.began = user_chain(frame), self._watch.journal.next_order()
        known.started = sequence_now()
        known.forwards += torch.is_grad_enabled()
        known.forward = Trail(known.began) if self._watch.recording else None
        if known.forward is not None:
            self._watch.recorder.trails.append(known.forward)

    def end(self, model: Any) -> None:
        known = self.models.get(model)
        if known is not None:
            self._drop(known.forward)
            known.ended = sequence_now()

    def named(self, model: Any) -> list[tuple[str, int]]:
        """(name, id) of the parameters that the reducer counts."""
        return [(name, id(parameter)) for name, parameter in counted(model)]

    def _drop(self, trail: Trail | None) -> None:
        recorder = self._watch.recorder
        recorder.trails = [each for each in recorder.trails if each is not trail]


def counted(model: Any) -> list[tuple[str, Any]]:
    """(name, parameter) in the order in which the reducer counts, those that require grad now, each once.

    (torch/nn/parallel/distributed.py, ``_build_params_for_reducer``.)
    """
    ignored = getattr(model, "parameters_to_ignore", ())
    found: dict[int, tuple[str, Any]] = {}
    for path, module in torch.nn.Module.named_modules(model.module):
        for name, parameter in module._parameters.items():
            if parameter is not None and parameter.requires_grad and f"{path}.{name}" not in ignored:
                found.setdefault(id(parameter), (f"{path}.{name}" if path else name, parameter))
    return list(found.values())


def install(watch: Watch) -> Callable[[], None]:
    """Patch the wrapper where torch.distributed was built in; what it did is in ``watch.parallel``."""
    undo: list[Callable[[], None]] = []
    log = watch.parallel

    def made(original: Any) -> Any:
        def __init__(model: Any, *args: Any, **kwargs: Any) -> None:
            original(model, *args, **kwargs)
            watch._quietly(log.wrapped, model, sys._getframe(1))

        return __init__

    def before(original: Any) -> Any:
        def _pre_forward(model: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(model, *args, **kwargs)
            watch._quietly(log.begin, model, sys._getframe(1))
            return result

        return _pre_forward

    def after(original: Any) -> Any:
        def _post_forward(model: Any, *args: Any, **kwargs: Any) -> Any:
            watch._quietly(log.end, model)
            return original(model, *args, **kwargs)

        return _post_forward

    if torch.distributed.is_available():
        watch._replace(DistributedDataParallel, "__init__", made, undo)
        if hasattr(DistributedDataParallel, "_pre_forward") and hasattr(DistributedDataParallel, "_post_forward"):
            watch._replace(DistributedDataParallel, "_pre_forward", before, undo)
            watch._replace(DistributedDataParallel, "_post_forward", after, undo)
    return lambda: watch._unpatch(undo)
