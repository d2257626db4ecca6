"""Takes gradwhy's own frames out of a traceback, so that it reads as it would without gradwhy."""

from __future__ import annotations

import traceback as tracebacks
from collections.abc import Callable
from types import TracebackType
from typing import Any

from gradwhy.runtime.sites import is_own_file


def cleaned(traceback: TracebackType | None) -> TracebackType | None:
    """The same traceback without the frames of gradwhy and those that torch adds to call it.

    A torch function that is written in Python calls ``handle_torch_function`` (torch/overrides.py), which calls the
    mode, which calls the function again: the first two of these three go as well.
    """
    entries: list[TracebackType] = []
    own = False
    while traceback is not None:
        if is_own_file(traceback.tb_frame.f_code.co_filename):
            own = True
            if entries and entries[-1].tb_frame.f_code.co_name == "handle_torch_function":
                entries.pop()
                if entries:
                    entries.pop()
        else:
            entries.append(traceback)
        traceback = traceback.tb_next
    if not own:
        return entries[0] if entries else None
    result: TracebackType | None = None
    for entry in reversed(entries):
        result = TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result


def clean(error: BaseException | None) -> None:
    """Clean an exception and all that are chained to it, in place."""
    seen: set[int] = set()
    stack = [error]
    while stack:
        current = stack.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        current.__traceback__ = cleaned(current.__traceback__)
        stack += [current.__cause__, current.__context__, *getattr(current, "exceptions", ())]


def clean_what_is_printed() -> Callable[[], None]:
    """Clean also the tracebacks that the program formats itself (``traceback``, ``logging``); returns the undo.

    Each of them goes through ``traceback.TracebackException`` (Lib/traceback.py).
    """
    original = tracebacks.TracebackException.__init__

    def __init__(self: Any, exc_type: Any, exc_value: Any, exc_traceback: Any, **options: Any) -> None:
        original(self, exc_type, exc_value, cleaned(exc_traceback), **options)

    __init__.__wrapped__ = original  # type: ignore[attr-defined]
    tracebacks.TracebackException.__init__ = __init__  # type: ignore[method-assign]

    def undo() -> None:
        tracebacks.TracebackException.__init__ = original  # type: ignore[method-assign]

    return undo
