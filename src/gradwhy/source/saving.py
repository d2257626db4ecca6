"""Writes changed program text back: encoding, byte order mark and line ends stay, a file is replaced whole or not at all."""

from __future__ import annotations

import codecs
import difflib
import io
import os
import re
import shutil
import tempfile
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gradwhy.source import locating, notebook, text

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


class CannotSave(Exception):
    """A file can't be written, or should not be; the text says why."""


@dataclass(frozen=True, slots=True)
class Change:
    """The text of a file, or of one cell of a notebook, as it was read and as it is to be; lines end in "\\n"."""

    file: str
    before: str
    after: str
    cell: int | None = None


def save(changes: Iterable[Change]) -> None:
    """Write all changes. Every file is prepared on the disk before the first is replaced, and each is replaced at once.

    Raises CannotSave with nothing written where a file is not what it was when it was read, can't be written, or has no place
    for a character; also where the system refuses a replacement.
    """
    by_file: dict[Path, list[Change]] = {}
    for change in changes:
        by_file.setdefault(Path(text.STARTED_IN, change.file).resolve(), []).append(change)
    prepared: list[tuple[Path, Path, bytes]] = []
    try:
        for target, mine in by_file.items():
            data = _read(target)
            prepared.append((target, _beside(target, _changed(data, mine)), data))
        for target, temporary, data in prepared:
            if _read(target) != data:
                raise CannotSave(_meanwhile(str(target)))
            try:
                temporary.replace(target)
            except OSError as error:
                raise CannotSave(f"{target}: {error.strerror or error}") from error
            _settle(target.parent)
    finally:
        for _, temporary, _ in prepared:
            temporary.unlink(missing_ok=True)
        text.forget_all()
        locating.forget_all()


def encoded(data: bytes, after: str) -> bytes:
    """The bytes of a Python file with its text changed to ``after``, whose lines end in "\\n".

    Lines that stay keep their own ends; new ones get that of the line before. Raises UnicodeEncodeError where the declared
    encoding has no place for a character.
    """
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    raw = io.TextIOWrapper(io.BytesIO(data), encoding, newline="").read()
    mark = "\ufeff" if raw.startswith("\ufeff") else ""
    old = _LINE.findall(raw.removeprefix("\ufeff"))
    bodies = [line.rstrip("\r\n") for line in old]
    ends = [line[len(body) :] for line, body in zip(old, bodies)]
    usual = max(set(ends) - {""}, key=ends.count, default="\n")
    new = after.split("\n")
    closed = new[-1] == ""
    new = new[:-1] if closed else new
    pieces: list[str] = []
    end = next((e for e in ends if e), usual)
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, bodies, new, autojunk=False).get_opcodes():
        for offset in range(j2 - j1):
            same = i1 + offset if tag == "equal" else min(i1 + offset, i2 - 1)
            if i1 < i2 and ends[same]:
                end = ends[same]
            pieces.append(new[j1 + offset] + end)
    if pieces and not closed:
        pieces[-1] = new[-1]
    whole = mark + "".join(pieces)
    # "utf-8-sig" is tokenize's name for a file with a mark; the mark is in its place already.
    return _marked(data, encoding) + whole.encode(encoding if encoding != "utf-8-sig" else "utf-8")


def _marked(data: bytes, encoding: str) -> bytes:
    return codecs.BOM_UTF8 if encoding == "utf-8-sig" and data.startswith(codecs.BOM_UTF8) else b""


def _changed(data: bytes, changes: list[Change]) -> bytes:
    file = changes[0].file
    try:
        if changes[0].cell is not None:
            raw = data.decode("utf-8")
            if any(notebook.source(raw, change.cell or 0) != change.before for change in changes):
                raise CannotSave(_meanwhile(file))
            return notebook.rewritten(raw, {change.cell or 0: change.after for change in changes}).encode("utf-8")
        (change,) = changes
        if text.decoded(data) != change.before:
            raise CannotSave(_meanwhile(file))
        new = encoded(data, change.after)
        if text.decoded(new) != change.after:
            raise CannotSave(f"{file} can't be written in its encoding")
        return new
    except UnicodeEncodeError as error:
        raise CannotSave(f"{file}: {error.encoding} has no {error.object[error.start : error.end]!r}") from error
    except (SyntaxError, UnicodeDecodeError, LookupError, ValueError) as error:
        raise CannotSave(f"{file}: {error}") from error


def _meanwhile(file: str) -> str:
    return f"{file} has changed meanwhile"


def _read(target: Path) -> bytes:
    try:
        data = target.read_bytes()
    except OSError as error:
        raise CannotSave(f"{target}: {error.strerror or error}") from error
    if not os.access(target, os.W_OK):
        raise CannotSave(f"{target} is read-only")
    return data


def _beside(target: Path, data: bytes) -> Path:
    """A file with these bytes, on the disk, in the target's folder and with its mode."""
    name = ""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        shutil.copymode(target, name)
    except OSError as error:
        if name:
            Path(name).unlink(missing_ok=True)
        raise CannotSave(f"{target}: {error.strerror or error}") from error
    return Path(name)


def _settle(folder: Path) -> None:
    """The folder's entry on the disk, where the system lets a folder be synced."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        return
    finally:
        os.close(handle)
