"""Walks the history of a value back from a loss: the cuts, the frozen parameters and the sources that it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gradwhy.static.flow.histories import NO, Flow


@dataclass(frozen=True, slots=True)
class Station:
    """A history on the way, how far it is from the start, and what was computed from it last."""

    flow: Flow
    distance: int
    after: Station | None
    aside: bool = False
    """Whether the way there goes through an argument that wants no gradient: a target, an index, a mask."""

    def trail(self) -> Iterator[Flow]:
        """From the station's successor to the start."""
        station = self.after
        while station is not None:
            yield station.flow
            station = station.after


def stations(starts: Iterable[Flow], through: int = NO, leaves: bool = False) -> Iterator[Station]:
    """All histories behind ``starts``, the nearest first; those with a path beyond ``through`` are not walked, and what
    leaves were made of only where ``leaves`` says so."""
    todo = [Station(flow, 0, None) for flow in starts]
    aside: list[Station] = []
    done: set[int] = set()
    while todo:
        later: list[Station] = []
        for station in todo:
            flow = station.flow
            if id(flow) in done:
                continue
            done.add(id(flow))
            yield station
            if flow.grad <= through and (leaves or flow.kind != "leaf"):
                later += [Station(part, station.distance + 1, station, station.aside) for part in flow.inputs]
                aside += [Station(part, station.distance + 1, station, True) for part in flow.side]
        if not later:
            later, aside = aside, []
        todo = later
