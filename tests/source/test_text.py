"""Positions are lines and code points from 1, whatever the encoding and the characters."""

from __future__ import annotations

import ast
from pathlib import Path

from gradwhy.source import text
from gradwhy.source.snippet import printable


def test_columns_count_code_points_not_bytes() -> None:
    source = text.SourceText("a.py", "损失 = 模型(输入).detach()\n")
    assert source.tree is not None
    call = source.tree.body[0].value  # type: ignore[attr-defined]
    span = source.span(call)
    assert (span.line, span.column, span.end_column) == (1, 6, 21)
    assert source.segment(call) == "模型(输入).detach()"


def test_a_segment_may_go_over_lines() -> None:
    source = text.SourceText("a.py", "x = f(\n    1,\n    2)\n")
    assert source.segment(source.tree.body[0].value) == "f(\n    1,\n    2)"  # type: ignore[union-attr]


def test_files_are_read_in_the_encoding_that_they_declare(tmp_path: Path) -> None:
    path = tmp_path / "latin.py"
    path.write_bytes("# -*- coding: latin-1 -*-\r\nname = 'é'\r\n".encode("latin-1"))
    source = text.read(str(path))
    assert source is not None
    assert source.line(2) == "name = 'é'"


def test_what_is_not_python_or_not_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_bytes(b"\xff\xfe\x00")
    assert text.read(str(tmp_path / "bad.py")) is None
    assert text.read(str(tmp_path / "missing.py")) is None
    assert text.SourceText("a.py", "def (").tree is None


def test_the_innermost_statement_of_a_line() -> None:
    source = text.SourceText("a.py", "with a:\n    for b in c:\n        d()\n")
    assert isinstance(source.statement_at(1), ast.With)
    assert isinstance(source.statement_at(2), ast.For)
    assert isinstance(source.statement_at(3), ast.Expr)


def test_nothing_that_moves_the_cursor_is_shown() -> None:
    assert printable("\tx = '\x1b[2J'") == "    x = '\ufffd[2J'"
    assert "\u202e" not in printable("x = '\u202e'")
