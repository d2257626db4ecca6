"""What torch only warns of, heard also where the program's filters leave warnings out: an audit asks for it."""

from __future__ import annotations

from types import FrameType
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from gradwhy.runtime.probes import warned

if TYPE_CHECKING:
    from gradwhy.runtime.watch import Watch

_LOSSES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")


def listen(watch: Watch) -> None:
    """Hear of reads of ``.grad`` and of the losses that compare shapes."""

    def read(args: Any, kwargs: Any, result: Any, frame: FrameType) -> None:
        tensor = args[0]
        if result is None and tensor.requires_grad and not tensor.is_leaf and not tensor.retains_grad:
            warned.hear(warned.NOT_A_LEAF, frame, watch)

    def compared(args: Any, kwargs: Any, result: Any, frame: FrameType) -> None:
        given = [*args[:2], *((kwargs or {}).get(name) for name in ("input", "target"))]
        tensors = [each for each in given if isinstance(each, torch.Tensor)]
        if len(tensors) == 2 and tensors[0].shape != tensors[1].shape:
            sizes = f"Using a target size ({tensors[1].size()}) {warned.SIZES} ({tensors[0].size()})."
            warned.hear(sizes, frame, watch)

    listeners = watch.recorder.listeners
    listeners[torch.Tensor.grad.__get__] = read
    listeners |= {getattr(functional, name): compared for name in _LOSSES}
