"""Edits of the user's text at a node: in its place, before it, or before the bracket that closes a call."""

from __future__ import annotations

import ast

from gradwhy.findings import Edit
from gradwhy.runtime.sites import display_path
from gradwhy.source.text import SourceText

_SIMPLE = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


def instead(source: SourceText, node: ast.AST, new_text: str) -> Edit:
    """``new_text`` in the place of a node."""
    span = source.span(node)
    return Edit(
        file=display_path(source.path), line=span.line, column=span.column, end_line=span.end_line,
        end_column=span.end_column, new_text=new_text,
    )  # fmt: skip


def before(source: SourceText, node: ast.AST, new_text: str) -> Edit:
    """``new_text`` before a node."""
    span = source.span(node)
    return _at(source, span.line, span.column, new_text)


def also(source: SourceText, call: ast.Call, argument: str) -> Edit:
    """One more argument at the end of a call."""
    span = source.span(call)
    text = source.segment(call)[:-1].rstrip()
    separator = "" if text.endswith(("(", ",")) else ", "
    return _at(source, span.end_line, span.end_column - 1, separator + argument)


def without_lines(source: SourceText, node: ast.AST) -> Edit:
    """The lines of a statement or a decorator taken out."""
    span = source.span(node)
    return Edit(
        file=display_path(source.path), line=span.line, column=1, end_line=span.end_line + 1, end_column=1, new_text=""
    )


def operand(source: SourceText, node: ast.AST) -> str:
    """The text of a node as something can be applied to it: in brackets where it needs them."""
    text = source.segment(node)
    return text if isinstance(node, _SIMPLE) else f"({text})"


def _at(source: SourceText, line: int, column: int, new_text: str) -> Edit:
    return Edit(
        file=display_path(source.path), line=line, column=column, end_line=line, end_column=column, new_text=new_text
    )
