"""The line that made each graph node, and who called that line: by torch's own numbers for nodes, which are not held."""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

from gradwhy.runtime.records import drop_oldest
from gradwhy.runtime.sites import Site, user_chain, user_frame

# A run of days must not fill the memory: nodes that old are gone.
_LINES_KEPT = 50_000
_CHAINS_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class Made:
    """The torch function that made a graph node, the user's line that called it, and those that called that, inside out."""

    func: Any
    site: Site
    chain: tuple[Site, ...] = ()

    def outside_forward(self) -> Site:
        """The line that called the module, where the value was computed in a module's ``forward``."""
        return next((site for site in self.chain if not site.code.co_name.endswith(("forward", "__call__"))), self.site)


class NodeLines:
    """Numbers and code objects only; no node and no tensor is held."""

    def __init__(self) -> None:
        self.lines: dict[int, tuple[Any, CodeType, int]] = {}
        self._callers: dict[tuple[int, int], tuple[int, tuple[Site, ...]]] = {}

    def add(self, func: Any, node: Any, frame: FrameType | None) -> None:
        """Note that ``func``, called from a frame, made a node (torch/autograd/graph.py, ``Node._sequence_nr``)."""
        self.add_number(func, node._sequence_nr(), frame)

    def add_number(self, func: Any, number: int, frame: FrameType | None) -> None:
        """The same for a node that is known by its number."""
        frame = user_frame(frame)
        if frame is None:
            return
        code, lasti = frame.f_code, frame.f_lasti
        self.lines[number] = (func, code, lasti)
        if len(self.lines) > _LINES_KEPT:
            drop_oldest(self.lines, _LINES_KEPT)
        # Who calls a line is looked up the first time that it makes a node, the second, the fourth, and so on.
        times, chain = self._callers.get((id(code), lasti), (0, ()))
        if times & (times - 1) == 0:
            chain = user_chain(frame, limit=12)
            drop_oldest(self._callers, _CHAINS_KEPT)
        self._callers[id(code), lasti] = times + 1, chain

    def made(self, number: int) -> Made | None:
        """Where the node with that number was made. One from inside a torch function belongs to the next on record: the
        result of its call."""
        known = self.lines.get(number)
        if known is None and number >= 0:
            numbers = sorted(self.lines)
            place = bisect.bisect(numbers, number)
            known = self.lines[numbers[place]] if place < len(numbers) else None
        return self._told(known)

    def last_made(self, before: int) -> Made | None:
        """Where the last node on record was made that has a smaller number."""
        number = max((each for each in self.lines if each < before), default=None)
        return self._told(self.lines[number]) if number is not None else None

    def _told(self, known: tuple[Any, CodeType, int] | None) -> Made | None:
        if known is None:
            return None
        func, code, lasti = known
        return Made(func, Site(code, lasti), self._callers.get((id(code), lasti), (0, ()))[1])
