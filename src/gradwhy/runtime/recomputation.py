"""Where the second run of a checkpointed function left the way of the first, and which expressions decided it."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from gradwhy.runtime import state_source
from gradwhy.runtime.sites import Site
from gradwhy.runtime.state_source import Piece
from gradwhy.runtime.trails import Ran, Trail


@dataclass(frozen=True, slots=True)
class Difference:
    """The first call that was not the same; None where the run has no such call."""

    first: Ran | None
    second: Ran | None

    @property
    def same_line(self) -> bool:
        return self.first is not None and self.second is not None and self.first.place == self.second.place


def difference(forward: Trail, again: Trail, complete: bool) -> Difference | None:
    """None where all that was seen is the same. ``complete``: whether the second run came to its end."""
    for first, second in zip(forward.calls, again.calls):
        if first.place != second.place or (first.shape, first.dtype) != (second.shape, second.dtype):
            return Difference(first, second)
    n = min(len(forward.calls), len(again.calls))
    if len(again.calls) > n:
        return Difference(None, again.calls[n])
    if complete and len(forward.calls) > n:
        return Difference(forward.calls[n], None)
    return None


def deciding(found: Difference) -> list[Piece]:
    """The expressions that the difference can come from: the line itself, or the conditions that led elsewhere."""
    if found.same_line and found.first is not None:
        site = found.first.site
        node, source = (site.node(), site.source) if site is not None else (None, None)
        return [Piece(source, node)] if node is not None and source is not None else []
    first = _inwards(found.first)
    second = _inwards(found.second)
    level = 0
    while level < min(len(first), len(second)) and first[level] == second[level]:
        level += 1
    pieces: list[Piece] = []
    if level < len(first) and level < len(second) and first[level].code is second[level].code:
        pieces += _between(first[level], second[level])
    elif level < max(len(first), len(second)):
        pieces += _above((first if level < len(first) else second)[level])
    for chain in (first, second):
        for site in chain[level + 1 :]:
            pieces += _above(site)
    if not pieces and level > 0:
        # One run went on where the other had ended: a loop or a condition around the last common line.
        pieces += _above(first[level - 1])
    if not pieces:
        sites = [chain[level] for chain in (first, second) if level < len(chain)]
        pieces += [piece for site in sites[:1] for piece in _loops(site)]
    return pieces


def _inwards(ran: Ran | None) -> list[Site]:
    return list(reversed(ran.chain)) if ran is not None else []


_TESTED = (ast.If, ast.While, ast.IfExp)


def _between(a: Site, b: Site) -> list[Piece]:
    """The conditions of a function that have one of two lines inside and not the other, or that leave it between them; and
    those in the functions that the line between them calls."""
    piece = state_source.function_of(a)
    if piece is None:
        return []
    low, high = sorted((a.line, b.line))
    found: list[Piece] = []
    for node in ast.walk(piece.node):
        if isinstance(node, _TESTED):
            end = node.end_lineno or node.lineno
            inside = {line for line in (low, high) if node.lineno <= line <= end}
            branches = {_branch(node, line) for line in (low, high)}
            if (
                len(inside) == 1
                or (len(inside) == 2 and len(branches) == 2)
                or (not inside and low < node.lineno < high)
            ):
                found.append(Piece(piece.source, node.test))
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            lines = {n.lineno for n in ast.walk(node) if hasattr(n, "lineno")}
            if lines and len({low, high} & set(range(min(lines), max(lines) + 1))) == 1:
                found.append(Piece(piece.source, node.iter))
    return found


def _branch(node: ast.If | ast.While | ast.IfExp, line: int) -> str:
    for name in ("body", "orelse"):
        parts = getattr(node, name)
        for part in parts if isinstance(parts, list) else [parts]:
            if part.lineno <= line <= (part.end_lineno or part.lineno):
                return name
    return "test"


def _above(site: Site) -> list[Piece]:
    """The conditions around a line, and those before it that leave its function."""
    piece = state_source.function_of(site)
    if piece is None:
        return []
    found: list[Piece] = []
    for node in ast.walk(piece.node):
        if isinstance(node, _TESTED):
            around = node.lineno <= site.line <= (node.end_lineno or node.lineno)
            leaves = any(isinstance(n, (ast.Return, ast.Raise, ast.Continue, ast.Break)) for n in ast.walk(node))
            if around or (leaves and node.lineno < site.line):
                found.append(Piece(piece.source, node.test))
    return found


def _loops(site: Site) -> list[Piece]:
    piece = state_source.function_of(site)
    if piece is None:
        return []
    return [
        Piece(piece.source, node.iter)
        for node in ast.walk(piece.node)
        if isinstance(node, (ast.For, ast.AsyncFor)) and node.lineno <= site.line <= (node.end_lineno or node.lineno)
    ]
