"""Gives warnings the place that they would have without gradwhy's frames on the stack."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

from gradwhy.runtime.sites import is_own_file


def place_truly() -> Callable[[], None]:
    """Correct the file and line of each warning that is shown; returns the undo.

    ``warnings`` counts frames, and a warning that C code raises belongs to the innermost Python frame (Python/_warnings.c).
    With a mode on, that may be ours, or a frame that only calls ours. The warning is then issued again for the right
    frame, so that filters and the once-per-place rule see that one.
    """
    original: Callable[[Any], None] = warnings._showwarnmsg  # type: ignore[attr-defined]
    again = False

    def _showwarnmsg(msg: Any) -> None:
        nonlocal again
        place = None if again else _true_frame(msg)
        if place is None:
            original(msg)
            return
        raw, true = place
        text, category = str(msg.message), msg.category
        registry = raw.f_globals.get("__warningregistry__", {})
        for key in ((text, category, msg.lineno), (text, category, 0)):
            registry.pop(key, None)
        if (text, category) in getattr(warnings, "onceregistry", {}):
            msg.filename, msg.lineno, msg.line = true.f_code.co_filename, true.f_lineno, None
            original(msg)
            return
        again = True
        try:
            warnings.warn_explicit(
                message=msg.message,
                category=category,
                filename=true.f_code.co_filename,
                lineno=true.f_lineno,
                module=true.f_globals.get("__name__", "<unknown>"),
                registry=true.f_globals.setdefault("__warningregistry__", {}),
                source=msg.source,
            )
        finally:
            again = False

    warnings._showwarnmsg = _showwarnmsg  # type: ignore[attr-defined]

    def undo() -> None:
        warnings._showwarnmsg = original  # type: ignore[attr-defined]

    return undo


def _true_frame(msg: Any) -> tuple[FrameType, FrameType] | None:
    """(the frame that a warning was placed on, the one that it belongs to), or None where they are the same."""
    raw: list[FrameType] = []
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_globals.get("__name__") not in ("warnings", "_py_warnings"):
            raw.append(frame)
        frame = frame.f_back
    clean: list[FrameType] = []
    skip = 0
    own = False
    for index, frame in enumerate(raw):
        if is_own_file(frame.f_code.co_filename):
            own = True
            following = raw[index + 1].f_code.co_name if index + 1 < len(raw) else ""
            skip = 2 if following == "handle_torch_function" else 0
        elif skip:
            skip -= 1
        else:
            clean.append(frame)
    if not own:
        return None
    for index, frame in enumerate(raw):
        if frame.f_code.co_filename == msg.filename and frame.f_lineno == msg.lineno:
            if index < len(clean) and clean[index] is not frame:
                return frame, clean[index]
            return None
    return None
