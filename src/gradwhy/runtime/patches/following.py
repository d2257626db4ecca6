"""Processes that ``torch.multiprocessing.spawn`` starts: each is watched too, and leaves its report for its parent."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch.multiprocessing

from gradwhy.findings import Report, wire
from gradwhy.runtime import unwind, warned
from gradwhy.source import text

if TYPE_CHECKING:
    from gradwhy.runtime.watch import TraceMode, Watch

_here: list[Watch] = []
"""The watch of this process; a process that was forked has that of its parent."""


class Following:
    """The folder that the started processes write to; gone with this object."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def followed(self, function: Any) -> Any:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="gradwhy-", ignore_cleanup_errors=True)
        return Followed(function, self._folder.name, self._watch.trace, os.getpid(), text.STARTED_IN)

    def report_of(self, error: BaseException | None) -> tuple[int, Report] | None:
        """(its number, its report) of the process that an exception of torch's tells of, if it left one.

        (torch/multiprocessing/spawn.py: ``ProcessRaisedException.error_index``.)
        """
        index = getattr(error, "error_index", None)
        if self._folder is None or not isinstance(index, int):
            return None
        file = Path(self._folder.name, f"{index}.json")
        return (index, wire.from_data(json.loads(file.read_text("utf-8")))) if file.is_file() else None


@dataclass(frozen=True)
class Followed:
    """The function that a started process runs, and what to do around it. It travels to the process by pickle."""

    function: Any
    folder: str
    trace: TraceMode
    parent: int
    started_in: str
    """The folder that the paths of reports count from; the process itself may start elsewhere."""

    def __call__(self, index: int, *args: Any) -> Any:
        watch = self._begin()
        try:
            return self.function(index, *args)
        except Exception as error:
            self._tell(index, error, watch)
            raise
        finally:
            for each in watch:
                each._quietly(each.stop)

    def _begin(self) -> list[Watch]:
        """What fails in here is nobody's business but ours: the process then runs unwatched."""
        try:
            from gradwhy.runtime.watch import Watch

            text.STARTED_IN = self.started_in
            if _here:
                watch = _here[0]
                watch.trace, watch.recorder.active = self.trace, True
                return [watch]
            unwind.clean_what_is_printed()
            warned.place_truly()
            watch = Watch(self.trace)
            watch.start()
            return [watch]
        except Exception:
            return []

    def _tell(self, index: int, error: Exception, watches: list[Watch]) -> None:
        try:
            from gradwhy.runtime.diagnose import diagnose

            for watch in watches:
                watch.stop()
                data = wire.to_data(diagnose(error, watch), lambda message: message.id)
                target = Path(self.folder, f"{index}.json")
                part = target.with_suffix(f".{os.getpid()}")
                part.write_text(json.dumps(data), "utf-8")
                part.replace(target)
        except Exception:
            return
        finally:
            unwind.clean(error)


def install(watch: Watch) -> Callable[[], None]:
    """Patch the one function that starts them all; what they left is read through ``watch.following``."""
    undo: list[Callable[[], None]] = []
    before = [*_here]
    _here[:] = [watch]

    def back() -> None:
        _here[:] = before

    undo.append(back)

    def starting(original: Any) -> Any:
        def start_processes(fn: Any, *args: Any, **kwargs: Any) -> Any:
            return original(watch.following.followed(fn), *args, **kwargs)

        return start_processes

    module = sys.modules.get("torch.multiprocessing.spawn")
    if module is not None:
        watch._replace(module, "start_processes", starting, undo)
        watch._replace(torch.multiprocessing, "start_processes", starting, undo)
    return lambda: watch._unpatch(undo)
