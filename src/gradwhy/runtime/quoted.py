"""Lines of the user's program that a text quotes, as tracebacks and compilers write them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradwhy.findings import Location
from gradwhy.runtime.account import Place
from gradwhy.runtime.sites import display_path, is_user_file, located
from gradwhy.source import text

_FRAME = re.compile(r'^\s*File "(?P<file>.+?)", line (?P<line>\d+)', re.M)


def users_lines(said: str) -> Iterator[Place]:
    """Those of the user's own files, the innermost (the last one named) first."""
    for found in reversed(list(_FRAME.finditer(said))):
        place = line_of(found["file"], int(found["line"])) if is_user_file(found["file"]) else None
        if place is not None:
            yield place


def line_of(file: str, line: int) -> Place | None:
    """A line of a file: the value of the statement that stands there, where it has one."""
    source = text.read(file)
    if source is None:
        return None
    statement = source.statement_at(line)
    value = getattr(statement, "value", None)
    if isinstance(value, ast.expr) and value.lineno <= line <= (value.end_lineno or value.lineno):
        return Place(located(source, value), source.segment(value))
    return Place(Location(file=display_path(source.path), line=line), source.line(line).strip())
