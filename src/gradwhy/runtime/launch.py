"""Runs a program as ``python`` itself would: its name, arguments, path, ``__main__`` and way of ending are its own."""

from __future__ import annotations

import builtins
import importlib.machinery
import os
import runpy
import signal
import sys
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import TypeAlias

from gradwhy.runtime import unwind

Hook: TypeAlias = "Callable[[type[BaseException], BaseException, TracebackType | None], object]"
"""A ``sys.excepthook``."""


@dataclass(frozen=True, slots=True)
class Program:
    """What to run: a script or folder by path, or a module by name, and its arguments."""

    target: str
    arguments: tuple[str, ...] = ()
    is_module: bool = False


class CannotRun(Exception):
    """The program can't be started; the text says why, as ``python`` would."""


def check(program: Program) -> None:
    """Raise CannotRun for what ``python`` would refuse with exit code 2."""
    if program.is_module:
        return
    path = Path(program.target)
    if path.is_dir():
        if not (path / "__main__.py").is_file():
            raise CannotRun(f"{program.target} is a folder without a __main__.py")
    elif not path.exists():
        raise CannotRun(f"there is no file {program.target}")
    elif not os.access(path, os.R_OK):
        raise CannotRun(f"{program.target} can't be read")


def run(program: Program, overlay: Mapping[str, CodeType] | None = None) -> None:
    """Run it in a fresh ``__main__`` to its end; what it raises comes out as it is.

    ``overlay`` has code by absolute path that takes the place of the script's own, for trying an edit.
    """
    main = ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __annotations__={}, __spec__=None)
    sys.modules["__main__"] = main
    sys.argv = [program.target, *program.arguments]
    safe = getattr(sys.flags, "safe_path", False)
    if program.is_module:
        sys.argv[0] = "-m"
        _replace_first_path(None if safe else str(Path.cwd()))
        runpy._run_module_as_main(program.target, alter_argv=True)  # type: ignore[attr-defined]
    elif Path(program.target).is_dir() or zipfile.is_zipfile(program.target):
        _replace_first_path(str(Path(program.target).absolute()))
        runpy._run_module_as_main("__main__", alter_argv=False)  # type: ignore[attr-defined]
    else:
        filename = str(Path(program.target).absolute())
        _replace_first_path(None if safe else str(Path(filename).resolve().parent))
        loader = importlib.machinery.SourceFileLoader("__main__", filename)
        main.__dict__.update(__file__=filename, __loader__=loader, __cached__=None)
        exec((overlay or {}).get(filename) or compiled(filename), main.__dict__)


def compiled(filename: str) -> CodeType:
    """The code of a script, from its bytes: the declared encoding, and syntax errors, are Python's affair."""
    return compile(Path(filename).read_bytes(), filename, "exec", dont_inherit=True)


_own_first_path = sys.path[0] if sys.path else None


def _replace_first_path(folder: str | None) -> None:
    """Our own entry (the folder of the command, or the working folder for ``python -m``) makes room for the program's."""
    if not getattr(sys.flags, "safe_path", False) and sys.path and sys.path[0] == _own_first_path:
        del sys.path[0]
    if folder is not None:
        sys.path.insert(0, folder)


def report_uncaught(error: BaseException) -> None:
    """Show an uncaught exception the way the program wants it shown: its own ``sys.excepthook``, or Python's."""
    unwind.clean(error)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    show(error, sys.excepthook)


def show(error: BaseException, hook: Hook) -> None:
    """Call an excepthook as Python calls it: one that fails is told of, and the exception shown all the same."""
    try:
        hook(type(error), error, error.__traceback__)
    except Exception as broken:
        # What Python itself prints when a hook fails.
        unwind.clean(broken)
        print("Error in sys.excepthook:", file=sys.stderr)
        sys.__excepthook__(type(broken), broken, broken.__traceback__)
        print("\nOriginal exception was:", file=sys.stderr)
        sys.__excepthook__(type(error), error, error.__traceback__)


def end_like(error: BaseException | None) -> None:
    """End the process as Python ends after ``error``: by raising, so that exit handlers and threads run as usual."""
    if error is None:
        return
    if isinstance(error, SystemExit):
        raise error
    sys.excepthook = _silent
    if isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is not signal.SIG_DFL:
        # Uncaught, it ends the process by the signal itself, which a shell can tell from an exit code.
        raise KeyboardInterrupt
    raise SystemExit(1)


def _silent(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """The exception was shown already."""
