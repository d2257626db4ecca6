"""Collectives of ``torch.distributed`` that fill tensors without a gradient path: recorded as the cuts that they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from gradwhy.runtime.watch import Watch

TRACED = True

# name -> (position, keyword) of what is filled. (torch/distributed/distributed_c10d.py)
_FILLS = {
    "all_gather": (0, "tensor_list"),
    "all_gather_single": (0, "output_tensor"),
    "all_gather_into_tensor": (0, "output_tensor"),
    "gather": (1, "gather_list"),
    "reduce_scatter": (0, "output"),
    "reduce_scatter_single": (0, "output"),
    "reduce_scatter_tensor": (0, "output"),
    "all_to_all": (0, "output_tensor_list"),
    "all_to_all_single": (0, "output"),
}


def install(watch: Watch) -> Callable[[], None]:
    """Patch the functions that ``torch.distributed`` offers, where it was built in."""
    undo: list[Callable[[], None]] = []

    def filling(position: int, keyword: str) -> Callable[[Any], Any]:
        def make(original: Any) -> Any:
            def collective(*args: Any, **kwargs: Any) -> Any:
                result = original(*args, **kwargs)
                if watch.recording:
                    filled = args[position] if len(args) > position else kwargs.get(keyword)
                    watch.recorder.observe(original, args, kwargs, filled)
                return result

            return collective

        return make

    for name, (position, keyword) in _FILLS.items() if torch.distributed.is_available() else ():
        if hasattr(torch.distributed, name):
            watch._replace(torch.distributed, name, filling(position, keyword), undo)
    return lambda: watch._unpatch(undo)


def is_collective(func: Any) -> bool:
    """Whether a recorded function is one of these."""
    return getattr(func, "__name__", "") in _FILLS and "torch.distributed" in (getattr(func, "__module__", None) or "")
