"""What a remedy is told about a fault, and how remedies are found: one file a cause in ``remedies/``."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, cast

from gradwhy.findings import Code, Edit, Fix, Message
from gradwhy.source.text import SourceText, Span

# What a call that makes a tensor of values is given: one value, a list of them, or lists in a list.
Takes: TypeAlias = Literal["value", "list", "nested"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """What is known of a tensor: the expression that names it, its shape and its dtype ("float32")."""

    text: str
    shape: tuple[int, ...] | None = None
    dtype: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One cut, in terms of the source. ``node`` is the expression at fault; what isn't known is None."""

    cause: str
    file: str
    source: SourceText
    node: ast.AST
    given: Value | None = None
    """The cut's input, which has a path."""
    made: Value | None = None
    """The cut's result, which has none."""
    loss_call: ast.Call | None = None
    """The call of a loss that took the result, in the same file, and which of its arguments it was."""
    loss_slot: int = 0
    target: Value | None = None
    rebuild: ast.Call | None = None
    """The call that made a tensor of a value that had left torch."""
    rebuild_takes: Takes = "value"
    returned: bool = False
    """Whether the value that left torch was seen to come back, as a number in a torch operation."""
    needed: tuple[int, ...] = ()
    """Lines of the same file that the path went through."""
    live: tuple[int, ...] = ()
    """Lines of the same file that were being executed when it failed, the innermost last."""
    is_decorator: bool = False


class Remedy(Protocol):
    """What a module in ``remedies/`` has; its name is the cause's, with "_" for "-"."""

    def remedies(self, fault: Fault) -> Iterable[Fix]:
        """Fixes with edits, the best first; none where it isn't certain that they fit."""


def fixes(fault: Fault) -> list[Fix]:
    """The fixes with edits, the best first; none where no remedy is sure."""
    name = fault.cause.replace("-", "_")
    known = {
        module.name for module in pkgutil.iter_modules(importlib.import_module("gradwhy.static.remedies").__path__)
    }
    if name not in known:
        return []
    remedy = cast(Remedy, importlib.import_module(f"gradwhy.static.remedies.{name}"))
    return [fix for fix in remedy.remedies(fault) if _parses(fault, fix)]


def advice(cause: str, given: Value | None = None, key: str = "advice", op: str = "") -> Fix:
    """The catalogue's remedy in words."""
    return Fix(
        title=Message(f"{cause}.{key}", {"input": Code(given.text if given else "…"), "op": Code(op or cause)}),
        applicability="display",
    )


def _parses(fault: Fault, fix: Fix) -> bool:
    """An edit that leaves a file which does not parse is no fix."""
    from gradwhy.source import edits

    try:
        ast.parse(edits.apply(fault.source.text, fix.edits))
    except (SyntaxError, ValueError):
        return False
    return True


def replace(fault: Fault, node: ast.AST | Span, new_text: str) -> Edit:
    """The edit that puts ``new_text`` in a node's place."""
    span = node if isinstance(node, Span) else fault.source.span(node)
    return Edit(
        file=fault.file,
        line=span.line,
        column=span.column,
        end_line=span.end_line,
        end_column=span.end_column,
        new_text=new_text,
    )
