"""What one stretch of a program called of torch: a forward pass, or the second run of a checkpointed function."""

from __future__ import annotations

from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch

from gradwhy.runtime.sites import Site, user_chain, user_frame

_CALLS_KEPT = 20_000
CHAIN_LIMIT = 200
_SEQUENCES = (list, tuple)


class Ran(NamedTuple):
    """One call of a torch function: what, where, and what came out, without the values."""

    func: Any
    shape: tuple[int, ...]
    dtype: str
    chain: tuple[Site, ...]
    """The user's functions between the call and where the trail begins, the innermost first."""

    @property
    def site(self) -> Site | None:
        return self.chain[0] if self.chain else None

    @property
    def place(self) -> tuple[Any, Site | None]:
        return self.func, self.site


class Trail:
    """The parameters that were used while the recorder was told to follow, and the calls in order. No tensor is held."""

    def __init__(self, order: int, outside: int | None = None) -> None:
        self.order = order
        """The journal's count at the start."""
        self.outside = outside
        """How many of the user's functions were running at the start; None where the calls themselves are not wanted."""
        self.calls: list[Ran] = []
        self.parameters: dict[int, Site] = {}
        """id of each parameter that was used -> the line that used it first."""
        self.chains: dict[CodeType, tuple[Site, ...]] = {}
        """The functions of the user's that called torch, with those that called them at the time."""
        self._known: dict[tuple[Site, ...], tuple[Site, ...]] = {}

    def add(self, func: Any, args: Any, kwargs: Any, result: Any, frame: FrameType | None) -> None:
        """Note one call that has just returned."""
        user = user_frame(frame)
        if user is None:
            return
        code = user.f_code
        if code not in self.chains:
            self.chains[code] = user_chain(user, limit=24)
        for argument in (*args, *kwargs.values()) if kwargs else args:
            for tensor in argument if type(argument) in _SEQUENCES else (argument,):
                if isinstance(tensor, torch.nn.Parameter) and id(tensor) not in self.parameters:
                    self.parameters[id(tensor)] = Site(code, user.f_lasti)
        if self.outside is None or len(self.calls) >= _CALLS_KEPT:
            return
        first = result[0] if type(result) in _SEQUENCES and result else result
        if isinstance(first, torch.Tensor) and getattr(func, "__name__", "") != "__get__":
            whole = user_chain(user, limit=CHAIN_LIMIT)
            inner = whole[: max(len(whole) - self.outside, 0)]
            # Most calls have the same callers as others.
            chain = self._known.setdefault(inner, inner)
            self.calls.append(Ran(func, tuple(first.shape), str(first.dtype), chain))
