"""Values that left torch while they had a history, and how a tensor made of the same values is known again."""

from __future__ import annotations

from collections import deque
from typing import Any

from gradwhy.runtime.records import Record, drop_oldest, memory_of, numbers_in

# How many numbers and departures are remembered, and of one departure how many values: a larger array is known by its
# memory alone.
_NUMBERS_KEPT = 20_000
_DEPARTURES_KEPT = 4_096
_VALUES_KEPT = 1_024
_LARGEST_READ = 65_536


class Departures:
    """Numbers and addresses only: no array is held."""

    def __init__(self) -> None:
        self.kept: deque[Record] = deque(maxlen=_DEPARTURES_KEPT)
        self.numbers: dict[float, Record] = {}

    def __bool__(self) -> bool:
        return bool(self.kept)

    def left(self, record: Record, result: Any) -> None:
        """``result`` is what a tensor's ``item()``, ``tolist()`` or ``numpy()`` gave."""
        if hasattr(result, "__array_interface__"):
            record.value = memory_of(result)
            small = result.dtype.kind == "f" and result.size <= _VALUES_KEPT
            numbers = numbers_in(result.tolist()) if small else []
        else:
            numbers = numbers_in(result, _VALUES_KEPT)
        for number in numbers:
            # Round numbers turn up by themselves; others are as good as a name.
            if abs(number) < 1e15 and number * 64 != int(number * 64):
                self.numbers[number] = record
        drop_oldest(self.numbers, _NUMBERS_KEPT)
        self.kept.append(record)

    def returned(self, args: Any, kwargs: Any) -> list[Record]:
        """The departures whose values a new tensor is made from: the same numbers, or the same memory."""
        found: list[Record] = []
        for argument in (*args, *(kwargs or {}).values()):
            memory = memory_of(argument)
            if memory is not None:
                start, size = memory
                shared = next((record for record in reversed(self.kept) if _holds(record, start)), None)
                if shared is not None:
                    found.append(shared)
                elif size <= _LARGEST_READ and argument.dtype.kind == "f":
                    found.extend(self.numbers[n] for n in numbers_in(argument.tolist()) if n in self.numbers)
            elif type(argument) is float or isinstance(argument, (list, tuple)) or hasattr(argument, "__float__"):
                found.extend(self.numbers[n] for n in numbers_in(argument) if n in self.numbers)
        return list(dict.fromkeys(found))


def _holds(record: Record, address: int) -> bool:
    value = record.value
    return type(value) is tuple and value[0] <= address < value[0] + value[1]
