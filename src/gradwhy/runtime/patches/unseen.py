"""Two ways to make a tensor that no mode sees: ``torch.from_numpy``, and ``Variable(x)``, which drops the history of ``x``
(torch/autograd/variable.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from gradwhy.runtime.watch import Watch


def install(watch: Watch) -> Callable[[], None]:
    """Record what both give."""
    recorder = watch.recorder
    undo: list[Callable[[], None]] = []

    def made(original: Any) -> Any:
        def from_numpy(array: Any) -> Any:
            result = original(array)
            if watch.recording:
                recorder.observe(original, (array,), None, result)
            return result

        return from_numpy

    watch._replace(torch, "from_numpy", made, undo)
    meta = type(torch.autograd.Variable)

    def __call__(cls: Any, *args: Any, **kwargs: Any) -> Any:
        result = type.__call__(cls, *args, **kwargs)
        if watch.recording:
            recorder.observe(torch.autograd.Variable, args, kwargs, result)
        return result

    meta.__call__ = __call__
    undo.append(lambda: delattr(meta, "__call__"))
    return lambda: watch._unpatch(undo)
