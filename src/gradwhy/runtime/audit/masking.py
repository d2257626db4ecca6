"""Gradients that the program masks by hand, and optimizers that move the masked values all the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch

from gradwhy.runtime.recorder import Recorder
from gradwhy.runtime.sites import Site, user_frame
from gradwhy.runtime.writes import memory_key

_KEPT = 512


@dataclass(slots=True)
class Masks:
    """``moved``: (optimizer, line that masked) -> ids of the parameters with values that moved although they were masked."""

    moved: dict[tuple[int, Site], set[int]] = field(default_factory=dict)
    times: dict[tuple[int, Site], int] = field(default_factory=dict)
    _written: dict[int, tuple[Site, Any]] = field(default_factory=dict)
    """Memory of a tensor that zeros were written to -> the line, and which values (a copy; None for all). Until the next step."""

    @property
    def waiting(self) -> bool:
        """Whether something was masked since the last step."""
        return bool(self._written)

    def multiplied(self, args: Any, kwargs: Any, result: Any, frame: FrameType) -> None:
        """``grad.mul_(mask)``, ``grad *= mask``."""
        value = args[1] if len(args) > 1 else kwargs.get("other") if kwargs else None
        if isinstance(value, torch.Tensor) and value.shape == args[0].shape and value.numel() > 1:
            self._wrote(args[0], value == 0, frame)

    def filled(self, args: Any, kwargs: Any, result: Any, frame: FrameType) -> None:
        """``grad.masked_fill_(mask, 0)``, ``grad[index] = 0``."""
        if len(args) < 3 or isinstance(args[2], torch.Tensor) or args[2] != 0 or not args[0].is_floating_point():
            return
        mask = torch.zeros_like(args[0], dtype=torch.bool)
        if isinstance(args[1], torch.Tensor) and args[1].dtype == torch.bool and args[1].dim() == mask.dim():
            mask |= args[1]
        else:
            mask[args[1]] = True
        self._wrote(args[0], mask, frame)

    def zeroed(self, args: Any, kwargs: Any, result: Any, frame: FrameType) -> None:
        """``grad.zero_()`` by the program itself."""
        self._wrote(args[0], None, frame)

    def _wrote(self, target: Any, mask: Any, frame: FrameType) -> None:
        user = user_frame(frame) if not target.requires_grad else None
        if user is not None and len(self._written) < _KEPT and (mask is None or bool(mask.any())):
            self._written[memory_key(target)] = (Site(user.f_code, user.f_lasti), mask)

    def settle(self, number: int, parameters: list[Any], copies: list[Any]) -> None:
        """After a step: which masked values moved."""
        if len(copies) != len(parameters):
            self._written.clear()
            return
        for parameter, copy in zip(parameters, copies) if self._written else ():
            gradient = parameter.grad
            if gradient is None or gradient.is_sparse:
                continue
            site, mask = self._written.get(memory_key(gradient), (None, None))
            if site is None:
                continue
            moved = parameter.detach() != copy
            if not bool(gradient.any()) if mask is None else not bool(gradient[mask].any()):
                if bool(moved.any() if mask is None else moved[mask].any()):
                    self.moved.setdefault((number, site), set()).add(id(parameter))
                    self.times[number, site] = self.times.get((number, site), 0) + 1
        self._written.clear()


def listen(recorder: Recorder, masks: Masks) -> None:
    """Hear of writes in place to what has no path, as gradients have none."""
    base = torch.Tensor
    recorder.listeners |= {
        base.mul_: masks.multiplied, base.__imul__: masks.multiplied, base.masked_fill_: masks.filled,
        base.__setitem__: masks.filled, base.zero_: masks.zeroed,
    }  # fmt: skip
