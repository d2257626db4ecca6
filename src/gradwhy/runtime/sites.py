"""Where something happened: a code object and an instruction, turned into a line and a node only when asked."""

from __future__ import annotations

import ast
import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

from gradwhy.findings import Location
from gradwhy.source import text

_INSTALLED = frozenset({"site-packages", "dist-packages"})
_OWN = str(Path(__file__).resolve().parents[1]) + os.sep


def _library_folders() -> tuple[str, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = {path for name in names if (path := sysconfig.get_paths().get(name))}
    folders |= {str(Path(path).resolve()) for path in folders}
    return tuple(folder.rstrip(os.sep) + os.sep for folder in folders)


_LIBRARY_FOLDERS = _library_folders()
_users: dict[str, bool] = {}


def is_user_file(filename: str) -> bool:
    """Whether a file is the user's own program: not an installed package, the standard library or generated code."""
    known = _users.get(filename)
    if known is None:
        known = _users[filename] = _classify(filename)
    return known


def _classify(filename: str) -> bool:
    if filename.startswith("<"):
        return False
    path = str(Path(filename).absolute())
    parts = Path(path).parts
    if _INSTALLED.intersection(parts):
        return False
    return not path.startswith((*_LIBRARY_FOLDERS, _OWN))


def package_of(filename: str) -> str:
    """The installed package that a file is of: "peft" of ``site-packages/peft/tuners/tuners_utils.py``; "" for other files."""
    parts = Path(filename).parts
    return next((after for folder, after in zip(parts, parts[1:]) if folder in _INSTALLED), "")


def take_as_users(filename: str, users: bool = True) -> None:
    """Code without a file of its own that is the user's all the same, such as a cell of a notebook; or no longer."""
    _users[filename] = users


def is_own_file(filename: str) -> bool:
    """Whether a file is part of gradwhy itself."""
    return filename.startswith(_OWN)


def is_host_file(filename: str) -> bool:
    """Whether a file of gradwhy's is one that a program's own calls go through: a wrapper around a host's function."""
    return filename.startswith(_OWN + "integrations" + os.sep)


# Looked up often, and each look-up walks a syntax tree. The code is kept so that its id stays its own.
_nodes: dict[tuple[int, int], tuple[CodeType, ast.AST | None]] = {}


class Site(NamedTuple):
    """One instruction of a program. ``code`` is shared with the running program and holds no values of it."""

    code: CodeType
    lasti: int

    @property
    def file(self) -> str:
        return self.code.co_filename

    @property
    def line(self) -> int:
        line = None
        for start, end, number in self.code.co_lines():
            if start <= self.lasti < end:
                line = number
        return line or self.code.co_firstlineno

    @property
    def function(self) -> str:
        name: str = getattr(self.code, "co_qualname", "") or self._qualified()
        # Some versions of IPython call a cell's code "<cell line: 3>".
        return "" if name == "<module>" or name.startswith("<cell line:") else name

    def _qualified(self) -> str:
        """The qualified name on Python 3.10, whose code objects don't have it."""
        source = self.source
        node = source.function_at(self.code.co_firstlineno, self.code.co_name) if source is not None else None
        if source is None or node is None:
            return self.code.co_name
        names = [node.name]
        for outer in source.enclosing(node):
            if isinstance(outer, ast.ClassDef):
                names.append(outer.name)
            elif isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)):
                names += ["<locals>", outer.name]
        return ".".join(reversed(names))

    @property
    def source(self) -> text.SourceText | None:
        return text.read(self.file)

    def node(self) -> ast.AST | None:
        """The expression or statement that the instruction belongs to; None rather than a wrong one."""
        key = (id(self.code), self.lasti)
        known = _nodes.get(key)
        if known is None or known[0] is not self.code:
            known = _nodes[key] = (self.code, self._find())
        return known[1]

    def _find(self) -> ast.AST | None:
        source = self.source
        if source is None or source.tree is None:
            return None
        found = self._positioned(source) if sys.version_info >= (3, 11) else self._executing(source)
        # Entering a context is placed on the whole statement: with one context it is clear which.
        if found is None and isinstance(block := source.statement_at(self.line), (ast.With, ast.AsyncWith)):
            found = block if block.lineno == self.line else None
        if isinstance(found, (ast.With, ast.AsyncWith)):
            return found.items[0].context_expr if len(found.items) == 1 else None
        return found

    def _positioned(self, source: text.SourceText) -> ast.AST | None:
        place = _position(self)
        if place is None:
            return None
        line, end_line, column, end_column = place
        if line is None or column is None or source.tree is None:
            return None
        for node in ast.walk(source.tree):
            if (
                getattr(node, "lineno", None) == line
                and getattr(node, "end_lineno", None) == end_line
                and getattr(node, "col_offset", None) == column
                and getattr(node, "end_col_offset", None) == end_column
                and not isinstance(node, ast.Expr)
            ):
                return node
        return None

    def _executing(self, source: text.SourceText) -> ast.AST | None:
        class Frozen(NamedTuple):
            f_code: CodeType
            f_lasti: int
            f_lineno: int
            f_globals: dict[str, object]

        # Imported here: only Python 3.10, whose code objects have no columns, needs it.
        import executing

        frame = Frozen(self.code, self.lasti, self.line, {})
        try:
            node = executing.Source.executing(frame).node
        except Exception:
            return None
        if node is None or source.tree is None:
            return None
        wanted = ast.dump(node, include_attributes=True)
        return next((n for n in ast.walk(source.tree) if ast.dump(n, include_attributes=True) == wanted), None)

    def expression(self) -> str:
        """The text of the expression that ran, "" where it can't be told."""
        node = self.node()
        source = self.source
        return source.segment(node) if node is not None and source is not None else ""

    def location(self) -> Location:
        """The place as a finding holds it, with the span of the expression where it is known."""
        node, source = self.node(), self.source
        if isinstance(node, ast.expr) and source is not None:
            return located(source, node, self.function)
        return Location(file=display_path(self.file), line=self.line, function=self.function)


def located(source: text.SourceText, node: ast.AST, function: str | None = None) -> Location:
    """The place of a node; ``function`` where the qualified name is known better than the tree tells it."""
    span = source.span(node)
    if function is None:
        outer = [n.name for n in source.enclosing(node) if isinstance(n, _NAMED)]
        function = ".".join(reversed(outer)) if source.function(node) is not None else ""
    return Location(
        file=display_path(source.path),
        line=span.line,
        column=span.column,
        end_line=span.end_line,
        end_column=span.end_column,
        function=function,
    )


_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _position(site: Site) -> tuple[int | None, int | None, int | None, int | None] | None:
    # Python 3.11 and later: one entry for each two bytes of code.
    positions = getattr(site.code, "co_positions", None)
    return (
        next((place for index, place in enumerate(positions()) if index * 2 == site.lasti), None) if positions else None
    )


def display_path(filename: str) -> str:
    """A file's path as people read it: relative to the folder we started in where it is below it, with forward slashes."""
    if filename.startswith("<"):
        return filename
    try:
        relative = os.path.relpath(filename, text.STARTED_IN)
    except ValueError:
        relative = filename
    return (filename if relative.startswith("..") else relative).replace(os.sep, "/")


def frames_from(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and those that called it, gradwhy's own left out."""
    while frame is not None:
        if not is_own_file(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back


def user_chain(frame: FrameType | None, limit: int = 40) -> tuple[Site, ...]:
    """The user's own frames from the inside out."""
    chain: list[Site] = []
    for outer in frames_from(frame):
        if is_user_file(outer.f_code.co_filename):
            chain.append(Site(outer.f_code, outer.f_lasti))
            if len(chain) == limit:
                break
    return tuple(chain)


def user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the user's own program, from a frame outwards."""
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def called_by(frame: FrameType | None) -> FrameType | None:
    """The first frame from one outwards that is neither torch's nor gradwhy's."""
    while frame is not None and (
        "/torch/" in frame.f_code.co_filename.replace("\\", "/") or is_own_file(frame.f_code.co_filename)
    ):
        frame = frame.f_back
    return frame


def whole_stack(frame: FrameType | None, limit: int = 200) -> tuple[Site, ...]:
    """All frames from one outwards, whoever they belong to."""
    stack: list[Site] = []
    while frame is not None and len(stack) < limit:
        stack.append(Site(frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(stack)
