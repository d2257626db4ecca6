"""The entries of a call's ``inputs``: which tensor, and what the user wrote for it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from gradwhy.findings import Argument, Code, Location
from gradwhy.runtime import account
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.sites import Site


@dataclass(frozen=True, slots=True)
class Entry:
    """One tensor of ``inputs``; ``text`` is the user's expression or name for it, ``at`` where that stands."""

    index: int
    tensor: Any
    text: str
    at: Location
    of: int

    def facts(self) -> dict[str, Argument]:
        return {"name": Code(self.text), "index": self.index, "of": self.of}


def entries(situation: Situation) -> list[Entry]:
    """What ``torch.autograd.grad`` or ``backward`` was asked for at the failing line, in its order."""
    surface = situation.failure.surface
    tensors = situation.failure.wanted()
    if surface is None:
        return []
    written = _written(surface.site)
    return [
        Entry(index, tensor, *_text(index, tensor, written, surface.site, situation, len(tensors)), len(tensors))
        for index, tensor in enumerate(tensors)
    ]


def _written(site: Site) -> ast.AST | None:
    call = account.call_at(site)
    if call is None:
        return None
    given = next((keyword.value for keyword in call.keywords if keyword.arg == "inputs"), None)
    if given is None and account.called(call) == "grad" and len(call.args) > 1:
        given = call.args[1]
    return given


def _text(
    index: int, tensor: Any, written: ast.AST | None, site: Site, situation: Situation, of: int
) -> tuple[str, Location]:
    """The element of a written list, the whole expression where it stands for one tensor, else the user's name for it."""
    source = site.source
    node = written
    if isinstance(node, (ast.Tuple, ast.List)):
        plain = not any(isinstance(part, ast.Starred) for part in node.elts[: index + 1])
        node = node.elts[index] if plain and index < len(node.elts) else node
    place = (account.place_of(site, node) if node is not None else None) or site.location()
    if (own := situation.names.parameters.get(id(tensor))) is not None:
        return own, place
    named = situation.names.variable(tensor)
    # A bare name is a tensor's own where there is one tensor only; else it is that of a list.
    whole = node is written and (of > 1 or not isinstance(written, ast.Name))
    text = source.segment(node) if source is not None and node is not None else ""
    if of > 1 and text and isinstance(written, ast.Name):
        text = f"{text}[{index}]"
    if named and (not text or (whole and named != text)):
        return named, place
    return text or named or f"inputs[{index}]", place
