"""Where this process is a rank of several: counts the backward passes, and looks whether the rank waits for others."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from gradwhy.runtime.ranks import standing

if TYPE_CHECKING:
    from gradwhy.runtime.watch import Watch


def install(watch: Watch) -> Callable[[], None]:
    """Patch the one function through which each ``backward`` goes. (torch/autograd/__init__.py)"""
    undo: list[Callable[[], None]] = []
    here = standing.start(watch)

    def counted(original: Any) -> Any:
        def _engine_run_backward(*args: Any, **kwargs: Any) -> Any:
            # ``autograd.grad`` fills no gradients: no rank waits for another in it.
            if here is not None and kwargs.get("accumulate_grad"):
                watch._quietly(here.went, sys._getframe(1))
            return original(*args, **kwargs)

        return _engine_run_backward

    if here is None:
        return lambda: None
    if hasattr(torch.autograd, "_engine_run_backward"):
        watch._replace(torch.autograd, "_engine_run_backward", counted, undo)
    undo.append(here.end)
    return lambda: watch._unpatch(undo)
