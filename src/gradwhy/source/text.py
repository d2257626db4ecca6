"""A program's text as Python reads it: lines, syntax tree, and columns in code points."""

from __future__ import annotations

import ast
import functools
import io
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

try:
    STARTED_IN = str(Path.cwd())
except OSError:
    # The folder is gone; absolute paths still work.
    STARTED_IN = ""
"""The folder that relative paths count from: where we were when we started, wherever the program goes."""


@dataclass(frozen=True, slots=True)
class Span:
    """Lines and columns count from 1, columns in code points, the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(slots=True)
class SourceText:
    """The text of one file, with its syntax tree where it has one."""

    path: str
    text: str
    lines: list[str] = field(init=False)
    _tree: ast.Module | None = field(default=None, init=False)
    _parents: dict[ast.AST, ast.AST] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.lines = self.text.split("\n")

    @property
    def tree(self) -> ast.Module | None:
        """The syntax tree, or None where the text does not parse."""
        if self._tree is None:
            try:
                self._tree = ast.parse(self.text)
            except (SyntaxError, ValueError, RecursionError):
                return None
        return self._tree

    @property
    def parents(self) -> dict[ast.AST, ast.AST]:
        if self._parents is None:
            self._parents = {}
            if self.tree is not None:
                for node in ast.walk(self.tree):
                    for child in ast.iter_child_nodes(node):
                        self._parents[child] = node
        return self._parents

    def line(self, number: int) -> str:
        """The text of a line that counts from 1, or "" outside the file."""
        return self.lines[number - 1].rstrip("\r") if 0 < number <= len(self.lines) else ""

    def span(self, node: ast.AST) -> Span:
        """Where a node stands. ``ast`` counts columns in UTF-8 bytes from 0; this is the one place that converts."""
        line, end_line = node.lineno, node.end_lineno or node.lineno  # type: ignore[attr-defined]
        column = self.column(line, node.col_offset)  # type: ignore[attr-defined]
        return Span(line, column, end_line, self.column(end_line, node.end_col_offset))  # type: ignore[attr-defined]

    def column(self, line: int, byte_offset: int) -> int:
        """A column from 1 in code points, for an offset in UTF-8 bytes from 0."""
        raw = self.line(line).encode("utf-8", "surrogatepass")
        return len(raw[:byte_offset].decode("utf-8", "ignore")) + 1

    def segment(self, node: ast.AST) -> str:
        """The text of a node, over several lines where it has them."""
        return self.between(self.span(node))

    def between(self, span: Span) -> str:
        """The text of a span, over several lines where it has them."""
        if span.line == span.end_line:
            return self.line(span.line)[span.column - 1 : span.end_column - 1]
        inner = [self.line(number) for number in range(span.line + 1, span.end_line)]
        first = self.line(span.line)[span.column - 1 :]
        return "\n".join([first, *inner, self.line(span.end_line)[: span.end_column - 1]])

    def enclosing(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, from the inside out."""
        parents = self.parents
        while node in parents:
            node = parents[node]
            yield node

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The statement that a node is part of."""
        if isinstance(node, ast.stmt):
            return node
        return next((outer for outer in self.enclosing(node) if isinstance(outer, ast.stmt)), None)

    def block(self, statement: ast.AST) -> list[ast.stmt]:
        """The statements that a statement stands among, itself included; [] for what stands among none."""
        parent = self.parents.get(statement)
        blocks = (getattr(parent, field, None) for field in ("body", "orelse", "finalbody"))
        return next((block for block in blocks if isinstance(block, list) and statement in block), [])

    def function(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None:
        """The function that a node stands in."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        return next((outer for outer in self.enclosing(node) if isinstance(outer, kinds)), None)

    def statement_at(self, line: int) -> ast.stmt | None:
        """The innermost statement that covers a line; of a compound one only its head counts as covering."""
        best: ast.stmt | None = None
        for node in ast.walk(self.tree) if self.tree is not None else ():
            if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
                if best is None or (node.lineno, -(node.end_lineno or 0)) >= (
                    best.lineno,
                    -(best.end_lineno or 0),
                ):
                    best = node
        return best

    def function_at(self, first_line: int, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The function whose code object starts at a line (its first decorator's, where it has one)."""
        for node in ast.walk(self.tree) if self.tree is not None else ():
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
                starts = [node.lineno, *(decorator.lineno for decorator in node.decorator_list)]
                if first_line in starts:
                    return node
        return None


_given: dict[str, SourceText] = {}


def give(path: str, text: str) -> SourceText:
    """Program text that no file has, such as standard input or an edit that is tried: ``read`` finds it from now on."""
    _given[path] = _given[str(Path(STARTED_IN, path))] = SourceText(path, text)
    return _given[path]


_cells: dict[str, None] = {}


def give_cell(path: str, text: str) -> SourceText:
    """The text of a notebook's cell that was executed, under the name that its code has for a file. All cells are one program."""
    _cells[path] = _cells.pop(path, None)
    return give(path, text)


def drop_cell(path: str) -> None:
    """The cell was edited and executed again: what it said before is not part of the program any more, and stays readable."""
    _cells.pop(path, None)


def cells() -> list[str]:
    """The cells of the notebook that runs, in the order in which they were last executed."""
    return list(_cells)


def together(paths: Iterable[str]) -> list[str]:
    """The files, and where a cell is among them, the other cells of the notebook."""
    wanted = list(dict.fromkeys(paths))
    return list(dict.fromkeys([*wanted, *_cells])) if any(path in _cells for path in wanted) else wanted


def read(path: str) -> SourceText | None:
    """The text of a Python file in the encoding it declares, or None where it can't be read.

    The same file gives the same object, whichever way its path is written.
    """
    whole = str(Path(STARTED_IN, path))
    return _given.get(path) or _given.get(whole) or _read(whole)


@functools.lru_cache(maxsize=512)
def _read(path: str) -> SourceText | None:
    try:
        text = decoded(Path(path).read_bytes())
    except (OSError, SyntaxError, UnicodeDecodeError, ValueError, LookupError):
        return None
    return SourceText(path, text)


def forget_all() -> None:
    """Read files anew the next time: they were written to."""
    _read.cache_clear()


def decoded(data: bytes) -> str:
    """The text of a Python file in the encoding that it declares, with "\n" at the end of its lines."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    text = io.TextIOWrapper(io.BytesIO(data), encoding, newline="").read()
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
