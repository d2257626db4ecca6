"""What was written in place: which memory, by which line, and the version that the tensor had afterwards."""

from __future__ import annotations

from collections import deque
from types import FrameType
from typing import Any, NamedTuple

import torch

from gradwhy.runtime.sites import Site, user_frame

_KEPT = 8_192
_NOT_WRITES = frozenset({"requires_grad_", "share_memory_", "rename_", "detach_", "is_shared"})

_sequence = getattr(torch._C._autograd, "_get_sequence_nr", None)


def sequence_now() -> int:
    """The number that the next graph node gets (torch/csrc/autograd/function.h, ``sequence_nr``); -1 where torch doesn't tell."""
    return int(_sequence()) if _sequence is not None else -1


def memory_key(tensor: Any) -> int:
    """The same for all views of one storage; 0 for a tensor without one."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except (RuntimeError, NotImplementedError):
        return 0


class Write(NamedTuple):
    """One in-place operation. ``sequence`` is the number of the next graph node at the time."""

    key: int
    version: int
    sequence: int
    func: Any
    site: Site


class WriteLog:
    """The last in-place operations, as addresses, numbers and lines; no tensor is held."""

    def __init__(self) -> None:
        self.entries: deque[Write] = deque(maxlen=_KEPT)
        self.data: dict[int, Site] = {}
        """id of a tensor -> the line that last put another one in the place of its ``.data``."""
        self._known: dict[Any, bool] = {}

    def is_write(self, func: Any) -> bool:
        """Whether a function that gave back its first argument may have written to it: by its name, or ``inplace=True``."""
        known = self._known.get(func)
        if known is None:
            name = getattr(func, "__name__", "")
            plain = name.endswith("_") and not name.endswith("__") and name not in _NOT_WRITES
            known = (
                plain
                or name.startswith("__i")
                or "inplace" in getattr(getattr(func, "__code__", None), "co_varnames", ())
            )
            known = self._known[func] = known and name not in ("__index__", "__int__", "__init__", "__invert__")
        return known

    def add(self, func: Any, tensor: Any, frame: FrameType | None) -> None:
        """Note a write that has just been made."""
        if tensor.is_inference():
            return
        user = user_frame(frame)
        if user is not None:
            site = Site(user.f_code, user.f_lasti)
            self.entries.append(Write(memory_key(tensor), tensor._version, sequence_now(), func, site))

    def data_set(self, tensor: Any, frame: FrameType | None) -> None:
        """Note that ``.data`` of a tensor was set."""
        user = user_frame(frame)
        if user is not None:
            self.data[id(tensor)] = Site(user.f_code, user.f_lasti)
            if len(self.data) > _KEPT:
                del self.data[next(iter(self.data))]

    def to(self, tensor: Any, above: int, since: int = -1) -> list[Write]:
        """The writes to a tensor's memory that made a version greater than ``above``, the oldest first; those before the graph
        node ``since`` was made are left out."""
        key = memory_key(tensor)
        return [w for w in self.entries if w.key == key and w.version > above and w.sequence > since]
