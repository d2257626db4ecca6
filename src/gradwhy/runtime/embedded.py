"""The one watch of a process: around a whole program, or inside one that runs already and comes and goes as it likes."""

from __future__ import annotations

import contextlib
import sys
import threading
import traceback as tracebacks
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING, TypeAlias

from gradwhy.findings import Message, Report
from gradwhy.runtime import arrival, ranks, unwind, warned

if TYPE_CHECKING:
    from gradwhy.runtime.watch import TraceMode, Watch

Attend: TypeAlias = "Callable[[Watch], Callable[[], None]]"
"""Called when the watch has begun; gives back what is to be called before it ends."""


class Listening:
    """A watch that begins once torch is there. Faults of ours on the way are kept for the report, and none is raised.

    ``nan`` looks at each gradient until the first that is not finite, and records each step for it. Without ``eager`` what was
    compiled runs compiled, unseen.
    """

    def __init__(
        self, trace: TraceMode = "auto", nan: bool = False, attend: Attend | None = None, eager: bool = True
    ) -> None:
        self.trace: TraceMode = "always" if nan else trace
        self.watch: Watch | None = None
        self.complete = False
        """Whether the watch began before the first node of a graph was made: what it has not seen did not happen then."""
        self.trouble: list[BaseException] = []
        self._nan, self._attend, self._eager = nan, attend, eager
        self._leaving: list[Callable[[], None]] = []
        self._undo: list[Callable[[], None]] = []

    @property
    def steps(self) -> int:
        """Optimizer steps that were completed."""
        return self.watch.journal.steps if self.watch is not None else 0

    def begin(self) -> None:
        """Wait for torch, and watch from then on. To be ended by ``end``."""
        self._undo += [
            arrival.when_imported("torch", self._arrived),
            unwind.clean_what_is_printed(),
            warned.place_truly(self._heard),
        ]

    def _arrived(self) -> None:
        # A fault of ours must not become an ImportError of torch.
        try:
            from gradwhy.runtime.watch import Watch
            from gradwhy.runtime.writes import sequence_now

            self.watch = Watch(self.trace, nan=self._nan)
            self.complete = sequence_now() == 0
            self.watch.compiling.stays_compiled = not self._eager
            self.watch.start()
            if self._attend is not None:
                self._leaving.append(self._attend(self.watch))
        except Exception as fault:
            self.trouble.append(fault.with_traceback(None))

    def _heard(self, text: str, frame: FrameType) -> None:
        if self.watch is not None:
            from gradwhy.runtime.probes import warned as listening

            self.watch._quietly(listening.hear, text, frame, self.watch)

    def end(self) -> None:
        """Take everything out of the program again. Only the first call counts."""
        if not self._undo:
            return
        for each in [*self._leaving, *([self.watch.stop] if self.watch is not None else [])]:
            try:
                each()
            except Exception as fault:
                self.trouble.append(fault.with_traceback(None))
        self._leaving.clear()
        while self._undo:
            self._undo.pop()()

    def refresh(self) -> None:
        """Record in full again: something new begins, such as a cell or a test."""
        if self.watch is not None:
            self.watch._quietly(_refresh, self.watch)

    def as_rank(self) -> None:
        """This process has become one rank of several."""
        if self.watch is not None and self.watch.thread == threading.get_ident():
            self.watch._quietly(self.watch.patch_as_rank)

    def report(self, error: BaseException | None) -> Report:
        """The report on an exception, or on what was noticed without one. Watching goes on; what was told is not told again."""
        if self.watch is None:
            notes = tuple(map(note, self.trouble))
            self.trouble.clear()
            found = unwatched(error)
            return replace(found, notes=(*found.notes, *notes))
        with aside(self.watch, self.complete):
            report = diagnosed(error, self.watch, self.trouble)
        _let_go(error)
        told(self.watch)
        self.trouble.clear()
        return report


def diagnosed(error: BaseException | None, watch: Watch, trouble: list[BaseException]) -> Report:
    """What ``diagnose`` says, whose own faults become notes, as ``trouble`` does."""
    try:
        # Imported here: it needs torch, which a program need not have imported.
        from gradwhy.runtime.diagnose import diagnose

        report = diagnose(error, watch)
    except Exception as fault:
        report = Report(notes=(note(fault),))
    return replace(report, notes=(*report.notes, *map(note, trouble)))


def unwatched(error: BaseException | None) -> Report:
    """The report on an exception that nobody watched: its message, the frames that are still live, and the source."""
    if error is None or "torch" not in sys.modules:
        return Report()
    try:
        from gradwhy.runtime.watch import Watch

        report = diagnosed(error, Watch("never"), [])
        _let_go(error)
        unwatched_note = Message("words.unwatched")
        notes = (unwatched_note if note.id == "words.no-answer" else note for note in report.notes)
        return replace(report, notes=tuple(notes))
    except Exception as fault:
        return Report(notes=(note(fault),))


def note(fault: BaseException) -> Message:
    """A fault of ours, as a report tells it."""
    return Message("words.own-fault", {"error": f"{type(fault).__name__}: {fault}"})


@contextlib.contextmanager
def aside(watch: Watch, complete: bool) -> Iterator[None]:
    """What a block does in this thread is gradwhy's own doing, and none of it is recorded."""
    recorder, here = watch.recorder, threading.get_ident()
    active, recorded = recorder.active, watch.was_recording
    recorder.active = active and here != watch.thread
    watch.aside, watch.was_recording = here, complete and watch.trace != "never"
    try:
        yield
    finally:
        recorder.active, watch.aside, watch.was_recording = active, 0, recorded


def _let_go(error: BaseException | None) -> None:
    from gradwhy.runtime.failure import let_go

    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        let_go(frame for frame, _ in tracebacks.walk_tb(error.__traceback__))
        if error.__traceback__ is not None and (caller := error.__traceback__.tb_frame.f_back) is not None:
            # Where the exception is still on its way, the calls around it were looked at too.
            let_go(frame for frame, _ in tracebacks.walk_stack(caller))
        error = error.__cause__ or error.__context__


def told(watch: Watch) -> None:
    """What was noticed so far has been reported, and is not reported again."""
    watch.silent, watch.warned = [], {}
    watch.recorder.faults.clear()
    watch.compiling.ran_eager = False
    # The exception dies, and the next one may have its id.
    watch.journal.forget_unwound()


def _refresh(watch: Watch) -> None:
    import torch

    if watch.trace == "never":
        return
    watch._record(True)
    watch._begin_count()
    # An exception inside step() has left the recorder off the stack.
    watch._suspend(False)
    if watch.recorder not in torch.overrides._get_current_function_mode_stack():
        watch._suspended_at = None
        watch._place(True)


# -- the one of this process

_current: Listening | None = None
_owned = False
_holds = 0


def start(trace: TraceMode = "auto", eager: bool = True) -> None:
    """Watch from here on, or from the moment on that torch is imported. A process has one watch: who starts one that runs
    already shares it, and it ends with the last ``stop``. ``eager``: see ``Listening``."""
    global _current, _holds
    _holds += 1
    alone = ranks.here() is None
    joined = not _owned and ranks.join() is not None
    if _current is not None and alone and joined:
        _current.as_rank()
    if _current is None:
        _current = Listening(trace, eager=eager)
        _current.begin()


def stop() -> None:
    """Undo one ``start``."""
    global _current, _holds
    _holds = max(_holds - 1, 0)
    if _holds == 0 and _current is not None and not _owned:
        _current.end()
        _current = None


def is_running() -> bool:
    """Whether this process is watched."""
    return _current is not None


@contextlib.contextmanager
def watching_closely() -> Iterator[tuple[Watch, bool] | None]:
    """(the watch of this process, whether it has seen everything) with each step recorded while a block lasts, or None where
    there is none that could be shared: it belongs to another thread or to ``gradwhy run``, or somebody listens already."""
    watch = _current.watch if _current is not None and not _owned else None
    if _current is None or watch is None or watch.thread != threading.get_ident() or watch.recorder.listeners:
        yield None
        return
    complete, before, watch.trace = _current.complete, watch.trace, "always"
    _refresh(watch)
    try:
        yield watch, complete
    finally:
        watch.trace = before


def is_spoken_for() -> bool:
    """Whether ``gradwhy run`` or ``gradwhy audit`` started this program: how it ends is theirs to report."""
    return _owned


def refresh() -> None:
    """Record in full again: something new begins, such as a cell or a test."""
    if _current is not None:
        _current.refresh()


def begin_part() -> None:
    """Record in full again, and forget what was noticed before: it belongs to another part, such as another test."""
    if _current is not None and _current.watch is not None:
        told(_current.watch)
    refresh()


def report(error: BaseException | None) -> Report:
    """The report on an exception, from what was watched or, where nothing was, from what the exception left. Never raises.

    Without one: what was noticed since the last report. The program goes on as before, and no tensor is kept.
    """
    try:
        return _current.report(error) if _current is not None else unwatched(error)
    except Exception as fault:
        return Report(notes=(note(fault),))


def own_fault(fault: BaseException) -> None:
    """A fault of a host's: a note in the next report."""
    if _current is not None:
        _current.trouble.append(fault.with_traceback(None))


@contextlib.contextmanager
def owning(listening: Listening) -> Iterator[None]:
    """For as long as a block lasts the watch of this process is that one, and it reports how the program ends."""
    global _current, _owned
    if _current is not None:
        _current.end()
    _current, _owned = listening, True
    listening.begin()
    try:
        yield
    finally:
        listening.end()
        _current, _owned = None, False


# -- exceptions that were told of

_last_told: tuple[object, ...] = ()


def mark_told(error: BaseException) -> None:
    """Remember the exception, without holding it: of those around one another, such as a hook and a block, the first tells."""
    global _last_told
    _last_told = _key(error)


def was_told(error: BaseException) -> bool:
    """Whether this exception was the last that was told of."""
    return _last_told == _key(error)


def _key(error: BaseException) -> tuple[object, ...]:
    inner = error.__traceback__
    while inner is not None and inner.tb_next is not None:
        inner = inner.tb_next
    place = (id(inner.tb_frame.f_code), inner.tb_lasti) if inner is not None else ()
    return id(error), type(error), *place
