"""Brings a report to where it was asked for: standard error, in the width of the terminal, or a file, whole or not at all."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from gradwhy.catalog import render
from gradwhy.findings import Message, Report
from gradwhy.report import formats

_WIDTH = 100


def deliver(
    report: Report, format_name: str, target: Path | None, language: str, every_row: bool = False, out: bool = False
) -> bool:
    """Write the report to ``target``, else to standard error, or to standard output where ``out`` says so. False where a
    text for people is empty."""
    if target is not None:
        try:
            _write(target, _text(report, format_name, language, None, every_row))
            return True
        except OSError as error:
            reason = error.strerror or str(error)
            said = Message("words.cannot-write", {"file": str(target), "reason": reason})
            say(f"gradwhy: {render.sentence(said, language)}")
    stream = sys.stdout if out else sys.stderr
    text = _text(report, format_name, language, stream, every_row)
    if text:
        say(text, stream)
    return bool(text) or format_name != "text"


def _text(report: Report, format_name: str, language: str, stream: Any, every_row: bool) -> str:
    look = formats.Look(language, columns(stream), in_colour(stream), every_row)
    return formats.load(format_name).write(report, look)


def in_colour(stream: Any) -> bool:
    """Whether a stream is a terminal that shows colours."""
    terminal = stream is not None and stream.isatty()
    return terminal and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def columns(stream: Any) -> int:
    """The width of the terminal that the report goes to; COLUMNS overrides it."""
    if os.environ.get("COLUMNS", "").isdecimal():
        return int(os.environ["COLUMNS"])
    try:
        return os.get_terminal_size(stream.fileno()).columns or _WIDTH
    except (OSError, ValueError, AttributeError):
        # Not a terminal.
        return _WIDTH


def say(text: str, stream: Any = None) -> None:
    """To standard error, or another stream, whatever its encoding; a closed one is no reason to fail."""
    stream = stream if stream is not None else sys.stderr
    if stream is None:
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    safe = text.rstrip("\n").encode(encoding, "backslashreplace").decode(encoding)
    try:
        # One write: what other processes say to the same terminal comes before it or after it.
        stream.write(f"{safe}\n")
        stream.flush()
    except (OSError, ValueError):
        return


def _write(target: Path, text: str) -> None:
    """Whole or not at all: a reader never sees half a report."""
    import tempfile

    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
