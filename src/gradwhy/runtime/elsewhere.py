"""Where nothing was recorded: what the source says of the failing call, and lines on the way that would cut. Never proven."""

from __future__ import annotations

import ast
from dataclasses import fields, is_dataclass, replace
from typing import Any

from gradwhy.findings import Edit, Finding, Location, Message
from gradwhy.runtime.explanation import Explanation, Loss
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.sites import display_path, located
from gradwhy.source import text
from gradwhy.source.slicing import dotted_name, lines_behind
from gradwhy.source.text import SourceText
from gradwhy.static import checking
from gradwhy.torchapi import table

_LEGACY = frozenset({"torch.Tensor", "torch.FloatTensor", "torch.DoubleTensor", "FloatTensor", "Tensor"})


def read(loss: Loss, symptom: str) -> list[Finding]:
    """What the reader of source finds for the failing call: it follows calls into other functions, and other cells."""
    site = loss.surface.site
    source = site.source
    if source is None:
        return []
    cells = Joined(text.cells()) if source.path in text.cells() else None
    whole = cells.source if cells is not None else source
    line = site.line + (cells.first[source.path] if cells is not None else 0)
    for finding in checking.check(whole, display_path(whole.path)):
        shows = finding.surfaces_at
        if finding.symptom == symptom and shows is not None and shows.line <= line <= (shows.end_line or shows.line):
            found = replace(finding, certainty="likely")
            return [cells.placed(found) if cells is not None else found]
    return []


class Joined:
    """The cells of a notebook as one text, in the order in which they were executed."""

    def __init__(self, paths: list[str]) -> None:
        sources = [source for path in paths if (source := text.read(path)) is not None and source.tree is not None]
        self.first: dict[str, int] = {}
        """The lines of the text above each cell."""
        lines: list[str] = []
        for source in sources:
            self.first[source.path] = len(lines)
            lines += source.lines
        self.source = SourceText("<notebook>", "\n".join(lines))

    def placed(self, value: Any) -> Any:
        """The same with places in the cells."""
        if isinstance(value, (Location, Edit)) and value.file == self.source.path:
            path, above = max(
                ((path, above) for path, above in self.first.items() if above < value.line), key=lambda each: each[1]
            )
            end = value.end_line
            return replace(
                value, file=display_path(path), line=value.line - above,
                end_line=end - above if end is not None else end,  # type: ignore[arg-type]
            )  # fmt: skip
        if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{f.name: self.placed(getattr(value, f.name)) for f in fields(value)})
        return tuple(map(self.placed, value)) if type(value) is tuple else value


def explain(loss: Loss, situation: Situation) -> list[Explanation]:
    """Calls by name, nearest to the failing line first; only in the function that failed and what it calls."""
    site = loss.surface.site
    node, source = site.node(), site.source
    if node is None or source is None or source.tree is None:
        return []
    lines = lines_behind(source, node)
    found: list[Explanation] = []
    for inner in ast.walk(source.tree):
        cause = _cause(inner)
        if cause and getattr(inner, "lineno", 0) in lines:
            place = located(source, inner)
            found.append(
                Explanation(
                    cause=cause,
                    at=place,
                    subject=source.segment(inner),
                    certain=False,
                    trains=True,
                    distance=abs(site.line - place.line),
                    steps=((place, Message(f"{cause}.cut", {"op": _name(inner), "because": ""})),),
                )
            )
    return sorted(found, key=lambda explanation: explanation.distance)[:3]


def _name(node: ast.AST) -> str:
    """The operation, as the sentences of the causes say it."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return dotted_name(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""


def _cause(node: ast.AST) -> str | None:
    if isinstance(node, ast.Attribute) and node.attr == "data":
        return "data-attribute"
    if not isinstance(node, ast.Call):
        return None
    if dotted_name(node.func) in _LEGACY:
        return "tensor-rebuild"
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    row = table.load().op(name) if name else None
    if row is None or not row.cause or row.effect not in ("cut", "detaches", "leaves", "builds"):
        return None
    return row.cause
