"""``gradwhy.install()``: from then on an uncaught autograd exception has its report under its traceback."""

from __future__ import annotations

import atexit
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from gradwhy.integrations import telling
from gradwhy.runtime import embedded, launch, unwind

if TYPE_CHECKING:
    from gradwhy.integrations.telling import To
    from gradwhy.runtime.watch import TraceMode


@dataclass
class _Installed:
    """What is in place, and what was there before."""

    to: To
    language: str | None
    hook: launch.Hook
    before: launch.Hook
    thread_hook: Callable[[Any], object]
    thread_before: Callable[[Any], object]
    active: bool = True


_installed: _Installed | None = None


def install(*, trace: TraceMode = "auto", to: To = None, language: str | None = None) -> None:
    """Watch the program from here on, and report what autograd failure it ends with, in this thread or another.

    The hooks that are there already (``sys.excepthook``, ``threading.excepthook``) are called first and show the exception as
    they do; the report comes after it, on standard error. ``to`` names a file instead (``.json``, or text), or a function that is
    given the report. ``trace``: "auto" records steps in full where something is new, "always" each, "never" none.
    In IPython and Jupyter this loads the extension. Calling it again changes the options only. Undone by ``uninstall``.
    """
    global _installed
    if _installed is not None:
        _installed.to, _installed.language = to, language
        return
    mine = _installed = _Installed(
        to, language, sys.excepthook, sys.excepthook, threading.excepthook, threading.excepthook
    )

    def hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if not mine.active:
            mine.before(kind, error, traceback)
            return
        _clean(error)
        launch.show(error, mine.before)
        _report(error, mine)

    def thread_hook(args: Any) -> None:
        error = args.exc_value
        if error is not None and mine.active:
            _clean(error)
            args = threading.ExceptHookArgs((args.exc_type, error, error.__traceback__, args.thread))
        mine.thread_before(args)
        if error is not None and mine.active:
            _report(error, mine, ends=False)

    mine.hook, mine.thread_hook = hook, thread_hook
    sys.excepthook, threading.excepthook = hook, thread_hook
    atexit.register(_at_exit)
    embedded.start(trace)
    telling.tell_meanwhile(to, language)
    _in_notebooks(True)


def uninstall() -> None:
    """Undo ``install``. Hooks that were put around ours since stay; ours then only calls the one before it."""
    global _installed
    if _installed is None:
        return
    gone, _installed = _installed, None
    gone.active = False
    if sys.excepthook is gone.hook:
        sys.excepthook = gone.before
    if threading.excepthook is gone.thread_hook:
        threading.excepthook = gone.thread_before
    atexit.unregister(_at_exit)
    embedded.stop()
    _in_notebooks(False)


def _at_exit() -> None:
    """What ended the program, where it was shown by a hook that replaced ours (Python leaves it in ``sys.last_value``)."""
    if _installed is None:
        return
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if error is None:
        telling.program_ends(None, 0.0, None)
    # IPython leaves what a cell raised there, which ended nothing.
    elif sys.excepthook is not _installed.hook and not ("IPython" in sys.modules and _shell() is not None):
        _report(error, _installed)


def _clean(error: BaseException) -> None:
    """Our own frames go, wherever the exception passed them."""
    try:
        unwind.clean(error)
    except Exception:
        return


def _report(error: BaseException, mine: _Installed, ends: bool = True) -> None:
    """Never raises: the program is about to end in its own way."""
    try:
        # ``gradwhy run`` reports by itself. SystemExit and KeyboardInterrupt are no faults.
        if not isinstance(error, Exception) or embedded.is_spoken_for():
            return
        since = time.time()
        if not embedded.was_told(error):
            embedded.mark_told(error)
            telling.announce()
            telling.tell(embedded.report(error), mine.to, mine.language)
        if ends:
            telling.program_ends(error, since, mine.language)
    except Exception:
        return


def _in_notebooks(on: bool) -> None:
    if "IPython" not in sys.modules:
        return
    try:
        if (shell := _shell()) is not None:
            from gradwhy.integrations import ipython

            (ipython.load if on else ipython.unload)(shell)
    except Exception:
        return


def _shell() -> Any:
    from gradwhy.integrations import ipython

    return ipython.running()
