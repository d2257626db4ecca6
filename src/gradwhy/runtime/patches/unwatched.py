"""Threads and processes that the program starts: what they compute is not recorded, and the report says so."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any

from gradwhy.findings import Location, Message
from gradwhy.runtime.sites import Site, user_frame

if TYPE_CHECKING:
    from gradwhy.runtime.watch import Watch

_AT_MOST = 16


class Unwatched:
    """The lines that started something, each once."""

    def __init__(self) -> None:
        self._started: dict[Site, str] = {}

    def started(self, kind: str, frame: Any) -> None:
        user = user_frame(frame)
        if user is not None and len(self._started) < _AT_MOST:
            self._started.setdefault(Site(user.f_code, user.f_lasti), kind)

    def lines(self) -> tuple[tuple[Location, Message], ...]:
        """(line, what was not watched), as a report lists them under ``skipped``."""
        return tuple((site.location(), Message(f"words.{kind}-unwatched")) for site, kind in self._started.items())


def install(watch: Watch) -> Callable[[], None]:
    """Notice each start of a thread or process; returns the undo."""
    undo: list[Callable[[], None]] = []
    kinds: tuple[tuple[Any, str], ...] = ((threading.Thread, "thread"), (BaseProcess, "process"))
    for owner, kind in kinds:

        def noticed(original: Any, kind: str = kind) -> Any:
            def start(self: Any) -> Any:
                watch._quietly(watch.unwatched.started, kind, sys._getframe(1))
                return original(self)

            return start

        watch._replace(owner, "start", noticed, undo)
    return lambda: watch._unpatch(undo)
