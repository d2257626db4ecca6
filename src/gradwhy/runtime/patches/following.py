"""Processes that ``torch.multiprocessing.spawn`` starts: each is watched too, and leaves its report for its parent.

Several that one call starts are ranks: they leave word for each other in a folder of the parent's, which tells what they found.
"""

from __future__ import annotations

import _thread
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch.multiprocessing

from gradwhy.findings import Report, wire
from gradwhy.runtime import embedded, unwind
from gradwhy.runtime.patches import unwatched
from gradwhy.runtime.ranks import Member, joining, leave, place, standing
from gradwhy.runtime.ranks.board import Board, FolderBoard
from gradwhy.source import text

if TYPE_CHECKING:
    from gradwhy.runtime.watch import TraceMode, Watch

_here: list[Watch] = []
"""The watch of this process; a process that was forked has that of its parent."""


class Following:
    """The folder that the started processes write to, with one of its own for each call; gone with this object."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._calls: list[Member] = []

    def followed(self, function: Any, number: int) -> Any:
        """What to run in ``function``'s place, in ``number`` processes."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="gradwhy-", ignore_cleanup_errors=True)
        place = Path(self._folder.name, str(len(self._calls)))
        place.mkdir()
        # The parent reads as none of them.
        self._calls.append(Member(-1, max(number, 1), FolderBoard(str(place)), spawned=True))
        if number > 1 and standing.Settings.tell is not None and standing.Settings.seconds > 0:
            _thread.start_new_thread(_listen, (self._calls[-1], standing.Settings.tell))
        return Followed(
            function, str(place), self._watch.trace, os.getpid(), text.STARTED_IN, number, standing.Settings.seconds
        )

    def report_of(self, error: BaseException | None) -> tuple[int, Report] | None:
        """(its number, the report) of the process that an exception of torch's tells of, joined with those of the others that
        its call had started; -1 for the number where several found something. None where no process left one.

        (torch/multiprocessing/spawn.py: ``ProcessRaisedException.error_index``.)
        """
        index = getattr(error, "error_index", None)
        if not self._calls or not isinstance(index, int):
            return None
        member = self._calls[-1]
        found = joining.reports(member)
        if index not in found:
            return None
        if member.size == 1:
            return index, found[index]
        telling = [rank for rank, report in found.items() if report.findings]
        return telling[0] if len(telling) == 1 else -1 if telling else index, joining.joined(found, member.size)


def _listen(member: Member, tell: Callable[[Report], None]) -> None:
    """Tell what the processes say while they run, once."""
    try:
        while (said := member.board.read(_MEANWHILE)) is None:
            time.sleep(1.0)
        tell(wire.from_data(json.loads(said)))
    except Exception:
        # The folder is gone: it is over.
        return


_MEANWHILE = "meanwhile"


@dataclass(frozen=True)
class Followed:
    """The function that a started process runs, and what to do around it. It travels to the process by pickle."""

    function: Any
    folder: str
    trace: TraceMode
    parent: int
    started_in: str
    """The folder that the paths of reports count from; the process itself may start elsewhere."""
    number: int = 1
    """How many processes the call starts."""
    stuck_after: float = 0.0

    def __call__(self, index: int, *args: Any) -> Any:
        member = Member(index, max(self.number, 1), FolderBoard(self.folder), spawned=True)
        with contextlib.ExitStack() as leaving:
            watch = self._begin(member, leaving)
            error: BaseException | None = None
            try:
                return self.function(index, *args)
            except BaseException as ended:
                error = ended
                if isinstance(ended, Exception) and watch is not None:
                    self._tell(member, ended, watch)
                raise
            finally:
                standing.ended(member, error)
                error = None

    def _begin(self, member: Member, leaving: contextlib.ExitStack) -> Watch | None:
        """What fails in here is nobody's business but ours: the process then runs unwatched."""
        try:
            text.STARTED_IN = self.started_in
            # A forked process would else be the rank that its parent is.
            leave()
            if self.number > 1:
                place(member)
                standing.Settings.seconds = self.stuck_after
                standing.Settings.tell = _Saying(member.board)
            if _here:
                watch = _here[0]
                watch.trace, watch.recorder.active = self.trace, True
                watch.unwatched = unwatched.Unwatched()
                if self.number > 1:
                    watch.patch_as_rank()
                leaving.callback(watch._quietly, watch.stop)
                return watch
            listening = embedded.Listening(self.trace)
            leaving.enter_context(embedded.owning(listening))
            return listening.watch
        except Exception:
            return None

    def _tell(self, member: Member, error: Exception, watch: Watch) -> None:
        try:
            joining.coming(member)
            watch.stop()
            joining.leave_word(member, embedded.diagnosed(error, watch, []))
        except Exception:
            return
        finally:
            unwind.clean(error)


@dataclass(frozen=True)
class _Saying:
    """Leaves what is to be told while the program runs for the parent."""

    board: Board

    def __call__(self, report: Report) -> None:
        self.board.post(_MEANWHILE, json.dumps(wire.to_data(report, lambda message: message.id)))


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
            number = kwargs.get("nprocs", args[1] if len(args) > 1 else 1)
            return original(watch.following.followed(fn, number), *args, **kwargs)

        return start_processes

    module = sys.modules.get("torch.multiprocessing.spawn")
    if module is not None:
        watch._replace(module, "start_processes", starting, undo)
        watch._replace(torch.multiprocessing, "start_processes", starting, undo)
    return lambda: watch._unpatch(undo)
