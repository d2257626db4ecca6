"""Gives warnings the place that they would have without gradwhy's frames on the stack, and tells who listens of each."""

from __future__ import annotations

import contextlib
import functools
import sys
import warnings
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any, TypeAlias

from gradwhy.runtime import launch
from gradwhy.runtime.sites import is_own_file

Listener: TypeAlias = Callable[[str, FrameType], None]
"""Called with the text of a warning that was issued and the frame that it belongs to."""


class _Placing:
    """What the two patches share: whether a warning is being issued again, and whether the last one was shown."""

    def __init__(self, listen: Listener) -> None:
        self.listen = listen
        self.again = False
        self.shown = 0
        self.own: CodeType | None = None


def place_truly(listen: Listener = lambda text, frame: None) -> Callable[[], None]:
    """Correct the file and line of each warning that is shown; returns the undo.

    ``warnings`` counts frames, and a warning that C code raises belongs to the innermost Python frame (Python/_warnings.c).
    With a mode on, that may be ours, or a frame that only calls ours. The warning is then issued again for the right
    frame, so that filters and the once-per-place rule see that one.

    ``listen`` hears of each warning that was issued, also where its place has shown it before, and of none that a filter ignores.
    """
    placing = _Placing(listen)
    patches = [_patch_showing(placing), _patch_issuing(placing)]

    def undo() -> None:
        for each in reversed(patches):
            each()

    return undo


def _patch_showing(placing: _Placing) -> Callable[[], None]:
    original: Callable[[Any], None] = warnings._showwarnmsg  # type: ignore[attr-defined]

    def _showwarnmsg(msg: Any) -> None:
        if placing.again:
            original(msg)
            return
        placing.shown += 1
        place = _true_frame(msg, placing.own)
        if place is None:
            original(msg)
            _tell(placing, str(msg.message), msg.category, _placed_frame(msg))
            return
        raw, true = place
        text, category = str(msg.message), msg.category
        # Where the count of frames ends outside of the program, Python names ``sys`` (Python/_warnings.c, ``setup_context``).
        filename, line = (true.f_code.co_filename, true.f_lineno) if true is not None else ("sys", 1)
        names: dict[str, Any] = true.f_globals if true is not None else vars(sys)
        registry = raw.f_globals.get("__warningregistry__", {})
        # What the filters "default", "once" and "module" leave there (Python/_warnings.c, ``update_registry``).
        for key in ((text, category, msg.lineno), (text, category, 0), (text, category)):
            registry.pop(key, None)
        if (text, category) in getattr(warnings, "onceregistry", {}):
            msg.filename, msg.lineno, msg.line = filename, line, None
            original(msg)
            _tell(placing, text, category, true)
            return
        placing.again = True
        try:
            warnings.warn_explicit(
                message=msg.message,
                category=category,
                filename=filename,
                lineno=line,
                module=names.get("__name__", "<unknown>"),
                registry=names.setdefault("__warningregistry__", {}),
                source=msg.source,
            )
        finally:
            placing.again = False
        _tell(placing, text, category, true)

    warnings._showwarnmsg = _showwarnmsg  # type: ignore[attr-defined]

    def undo() -> None:
        warnings._showwarnmsg = original  # type: ignore[attr-defined]

    return undo


def _patch_issuing(placing: _Placing) -> Callable[[], None]:
    """A warning that its place has shown before is not shown again, and nothing above hears of it; here it is heard."""
    original = warnings.warn

    def warn(message: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **options: Any) -> None:
        before = placing.shown
        caller = sys._getframe(1)
        skipped = options.get("skip_file_prefixes") or ()
        # Our own frame is one more to count, but for where counting begins outside of the given files anyway.
        inside = bool(skipped) and caller.f_code.co_filename.startswith(tuple(skipped))
        level = max(stacklevel, 2) if inside else max(stacklevel, 1) + 1
        original(message, category, level, source, **options)
        if placing.shown == before:
            kind = type(message) if isinstance(message, Warning) else category or UserWarning
            places = _cleaned(_stack_from(caller, None))
            _tell(placing, str(message), kind, places[min(max(stacklevel, 1), len(places)) - 1] if places else caller)

    placing.own = warn.__code__
    warnings.warn = functools.update_wrapper(warn, original)
    global _issuing, _original
    _issuing, _original = warnings.warn, original

    def undo() -> None:
        warnings.warn = original

    return undo


_issuing: Any = None
_original: Any = None


def step_aside() -> Callable[[], None]:
    """Put Python's own ``warnings.warn`` back for as long as a compiler traces calls of it; returns how to come back."""
    if _issuing is None or warnings.warn is not _issuing:
        return lambda: None
    warnings.warn = _original

    def back() -> None:
        if warnings.warn is _original:
            warnings.warn = _issuing

    return back


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Look at something in the middle of a run: filters that are changed for a moment, as ``warnings.catch_warnings`` does it,
    would make Python forget what each line has shown already (Lib/warnings.py, ``_filters_mutated``)."""
    names = [name for name in ("_filters_mutated", "_filters_mutated_lock_held") if hasattr(warnings, name)]
    kept = {name: getattr(warnings, name) for name in names}
    for name in names:
        setattr(warnings, name, lambda: None)
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(warnings, name, value)


def _tell(placing: _Placing, text: str, category: Any, frame: FrameType | None) -> None:
    try:
        if frame is not None and _action(text, category, frame) not in ("ignore", "error"):
            placing.listen(text, frame)
    except Exception:
        # The program is in the middle of its own call: what a listener can't handle is not its affair.
        return


def _action(text: str, category: Any, frame: FrameType) -> str:
    """What the filters say of a warning at a place (Lib/warnings.py, ``warn_explicit``)."""
    module, line = frame.f_globals.get("__name__") or "<unknown>", frame.f_lineno
    filters = getattr(warnings, "_get_filters", lambda: warnings.filters)()
    for action, said, kind, wanted, number in filters:
        if (
            _fits(said, text)
            and issubclass(category, kind)
            and _fits(wanted, module)
            and (number == 0 or number == line)
        ):
            return str(action)
    return str(getattr(warnings, "defaultaction", "default"))


def _fits(pattern: Any, text: str) -> bool:
    return pattern is None or (pattern == text if isinstance(pattern, str) else pattern.match(text) is not None)


def _stack_from(frame: FrameType | None, own: CodeType | None) -> list[FrameType]:
    raw: list[FrameType] = []
    while frame is not None:
        if frame.f_globals.get("__name__") not in ("warnings", "_py_warnings") and frame.f_code is not own:
            raw.append(frame)
        frame = frame.f_back
    return raw


def _cleaned(raw: list[FrameType]) -> list[FrameType]:
    """Without our own frames, and those that torch adds to call us (torch/overrides.py, ``handle_torch_function``).

    What is around the frame that launched the program is none of it.
    """
    clean: list[FrameType] = []
    skip = 0
    for index, frame in enumerate(raw):
        if frame.f_code.co_filename == launch.__file__:
            break
        if is_own_file(frame.f_code.co_filename):
            following = raw[index + 1].f_code.co_name if index + 1 < len(raw) else ""
            skip = 2 if following == "handle_torch_function" else 0
        elif skip:
            skip -= 1
        else:
            clean.append(frame)
    return clean


def _placed_frame(msg: Any) -> FrameType | None:
    """The frame that a warning names as its place."""
    for frame in _stack_from(sys._getframe(2), None):
        if frame.f_code.co_filename == msg.filename and frame.f_lineno == msg.lineno:
            return frame
    return None


def _true_frame(msg: Any, issuing: CodeType | None) -> tuple[FrameType, FrameType | None] | None:
    """(the frame that a warning was placed on, the one that it belongs to), or None where they are the same.

    The one that it belongs to is None where that would be outside of the program.
    """
    raw = _stack_from(sys._getframe(2), issuing)
    clean = _cleaned(raw)
    if not any(is_own_file(frame.f_code.co_filename) for frame in raw):
        return None
    for index, frame in enumerate(raw):
        if frame.f_code.co_filename == msg.filename and frame.f_lineno == msg.lineno:
            true = clean[index] if index < len(clean) else None
            return (frame, true) if true is not frame else None
    return None
