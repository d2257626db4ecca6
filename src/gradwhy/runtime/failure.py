"""What an exception left behind: its text, the frames that are still live, and the tensors that were asked for."""

from __future__ import annotations

import builtins
import contextlib
import inspect
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Any

from gradwhy.runtime import unwind
from gradwhy.runtime.sites import Site, frames_from, is_host_file, is_own_file, is_user_file, package_of

_OWN_REFERENCES = 3
# From Python 3.11 on.
_GROUPS: tuple[type[BaseException], ...] = tuple(filter(None, [getattr(builtins, "BaseExceptionGroup", None)]))


@dataclass(frozen=True, slots=True)
class LiveFrame:
    """A frame of the traceback, at the instruction where the exception passed."""

    frame: FrameType
    site: Site

    @property
    def is_users(self) -> bool:
        return is_user_file(self.site.file)


@dataclass(slots=True)
class Failure:
    """An exception with its frames from the outside in. Read it while the exception is alive, then let it go.

    ``error`` is None for a fault that raises nothing: then the frames are those of the call that shows it.
    """

    error: BaseException | None
    frames: list[LiveFrame] = field(default_factory=list)

    @property
    def text(self) -> str:
        return str(self.error) if self.error is not None else ""

    @property
    def user_frames(self) -> list[LiveFrame]:
        return [live for live in self.frames if live.is_users]

    @property
    def surface(self) -> LiveFrame | None:
        """The innermost frame of the user's own program."""
        users = self.user_frames
        return users[-1] if users else None

    @property
    def entry(self) -> LiveFrame | None:
        """The outermost frame of a package other than torch, where no frame is the user's: a trainer's own process or thread."""
        return next(
            (
                live
                for live in self.frames
                if package_of(live.site.file) not in ("", "torch") and not is_own_file(live.site.file)
            ),
            None,
        )

    def differentiated(self) -> Sequence[Any] | None:
        """The tensors that ``backward`` or ``grad`` was called on, from torch's own frames.

        (torch/autograd/__init__.py and graph.py: ``t_outputs``, ``tensors``, ``outputs``.)
        """
        for live in reversed(self.frames):
            if "/autograd/" not in live.site.file.replace("\\", "/"):
                continue
            values = live.frame.f_locals
            for name in ("t_outputs", "tensors", "outputs"):
                if isinstance(values.get(name), (tuple, list)):
                    return list(values[name])
        return None

    def wanted(self) -> Sequence[Any]:
        """The tensors whose gradients ``backward`` or ``grad`` was asked for, from torch's own frames; () for all leaves.

        (torch/autograd/__init__.py: ``inputs_tuple``, ``t_inputs``, ``inputs``.)
        """
        for live in reversed(self.frames):
            if "/autograd/" in live.site.file.replace("\\", "/"):
                for name in ("inputs_tuple", "t_inputs", "inputs"):
                    found = live.frame.f_locals.get(name)
                    if isinstance(found, (tuple, list)) and found:
                        return list(found)
        return ()


@contextlib.contextmanager
def standing(frame: FrameType) -> Iterator[Failure]:
    """A fault without an exception, seen from a frame that is running, for as long as a block lasts: what was looked up is let
    go of at its end.

    Before Python 3.13 a frame keeps a copy of its variables once somebody has read ``f_locals`` (Objects/frameobject.c,
    ``PyFrame_FastToLocalsWithError``), and with it tensors that the program has dropped.
    """
    frames = [LiveFrame(each, Site(each.f_code, each.f_lasti)) for each in frames_from(frame)]
    failure = Failure(None, frames[::-1])
    try:
        yield failure
    finally:
        let_go(live.frame for live in failure.frames)


def let_go(frames: Iterable[FrameType]) -> None:
    """Empty the copies of variables that reading ``f_locals`` has left in frames, but for what the program itself holds."""
    if sys.version_info >= (3, 13):
        return
    for frame in frames:
        if frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            copy = frame.f_locals
            # The frame, this variable and the argument: one more is a ``locals()`` of the program's own.
            if sys.getrefcount(copy) <= _OWN_REFERENCES:
                copy.clear()


def failures(error: BaseException) -> Iterator[Failure]:
    """An exception, those of a group, and those that it was raised from, each once, the outermost first."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        current = waiting.pop(0)
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        yield Failure(current, list(_frames(unwind.cleaned(current.__traceback__))))
        waiting += getattr(current, "exceptions", ()) if isinstance(current, _GROUPS) else ()
        waiting.append(current.__cause__ or (None if current.__suppress_context__ else current.__context__))


def _frames(traceback: TracebackType | None) -> Iterator[LiveFrame]:
    if traceback is not None:
        yield from reversed(list(_around(traceback.tb_frame.f_back)))
    while traceback is not None:
        frame = traceback.tb_frame
        yield LiveFrame(frame, Site(frame.f_code, traceback.tb_lasti))
        traceback = traceback.tb_next


def _around(frame: FrameType | None) -> Iterator[LiveFrame]:
    """The calls that an exception has not left yet, where somebody looks at it on its way, from the inside out. Those that led
    to gradwhy's own start of the program are not the program's."""
    while frame is not None:
        if not is_own_file(frame.f_code.co_filename):
            yield LiveFrame(frame, Site(frame.f_code, frame.f_lasti))
        elif not is_host_file(frame.f_code.co_filename):
            return
        frame = frame.f_back
