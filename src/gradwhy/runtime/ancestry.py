"""From a tensor without a path back over the untracked operations that it came from, nearest first."""

from __future__ import annotations

import functools
import heapq
import itertools
from dataclasses import dataclass
from typing import Any

import torch.overrides

from gradwhy.runtime import warned
from gradwhy.runtime.records import Record, Slot
from gradwhy.torchapi import table

# Passing through an argument that wants no gradient (a target, an index, a mask) makes a path less likely to be the
# one that was meant.
_DETOUR = {"target": 100, "index": 60, "mask": 30}


@dataclass(frozen=True, slots=True)
class Reached:
    """A record behind the failing tensor, with the records between, from the tensor to it."""

    record: Record
    distance: int
    trail: tuple[Record, ...]


@functools.lru_cache(maxsize=4_096)
def torch_name(func: Any) -> str:
    """torch's own name of a function, such as ``torch.Tensor.argmax``; "" for None."""
    if func is None:
        return ""
    try:
        with warned.undisturbed():
            name = torch.overrides.resolve_name(func)
    except Exception:
        name = None
    return (
        name
        or f"{getattr(func, '__module__', None) or 'torch'}.{getattr(func, '__qualname__', func.__class__.__name__)}"
    )


def behind(root: Record, limit: int = 50_000) -> list[Reached]:
    """All records that ``root`` came from, nearest first, ``root`` itself included."""
    knowledge = table.load()
    order = itertools.count()
    queue: list[tuple[int, int, Record, tuple[Record, ...]]] = [(0, next(order), root, ())]
    done: set[int] = set()
    found: list[Reached] = []
    while queue and len(found) < limit:
        distance, _, record, trail = heapq.heappop(queue)
        if id(record) in done:
            continue
        done.add(id(record))
        found.append(Reached(record, distance, trail))
        name = torch_name(record.func)
        row = knowledge.op(name) if name else None
        if row is not None and row.effect == "constant":
            continue
        for slot, parent in record.parents:
            if id(parent) not in done:
                cost = 1 + (argument_cost(name, slot) if name else 0)
                heapq.heappush(queue, (distance + cost, next(order), parent, (*trail, record)))
    return found


def argument_cost(name: str, slot: Slot) -> int:
    """How far out of the way an argument lies that wants no gradient: the target of a loss, an index, a mask."""
    position, keyword = (slot, None) if isinstance(slot, int) else (None, slot)
    row = table.load().argument(name, position, keyword)
    return _DETOUR.get(row.role, 0) if row is not None else 0
