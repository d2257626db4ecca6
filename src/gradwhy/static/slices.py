"""The parts that a tensor is taken into by slices of one dimension: ``x, t = p[:, :1], p[:, 1:]``."""

from __future__ import annotations

import ast
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """``name = whole[:, start:stop]``: the dimension that is sliced, and from where to where; None for the end."""

    name: str
    whole: str
    dim: int
    start: int
    stop: int | None


def of(statement: ast.stmt) -> list[Part]:
    """The parts that a statement binds; none where it binds anything else."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return []
    target, value = statement.targets[0], statement.value
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        pairs = list(zip(target.elts, value.elts))
    parts = [_part(*pair) for pair in pairs]
    found = [part for part in parts if part is not None]
    return found if len(found) == len(parts) and len({part.whole for part in found}) == 1 else []


def joined(parts: list[Part]) -> str:
    """``cat([x, t], dim=1)``, where the parts are all of the tensor, one after the other; "" where a piece is missing."""
    ordered = sorted(parts, key=lambda part: part.start)
    if len(ordered) < 2 or len({part.dim for part in ordered}) != 1 or ordered[0].start:
        return ""
    if any(one.stop != other.start for one, other in zip(ordered, ordered[1:])):
        return ""
    return f"cat([{', '.join(part.name for part in ordered)}], dim={ordered[0].dim})"


def _part(target: ast.expr, value: ast.expr) -> Part | None:
    if (
        not isinstance(target, ast.Name)
        or not isinstance(value, ast.Subscript)
        or not isinstance(value.value, ast.Name)
    ):
        return None
    index = value.slice.elts if isinstance(value.slice, ast.Tuple) else [value.slice]
    first, last = index[:-1], index[-1]
    dots = len(first) == 1 and isinstance(first[0], ast.Constant) and first[0].value is ...
    full = all(isinstance(each, ast.Slice) and not (each.lower or each.upper or each.step) for each in first)
    if not isinstance(last, ast.Slice) or last.step is not None or not (dots or full):
        return None
    start, stop = _number(last.lower), _number(last.upper)
    if (last.lower is not None and start is None) or (last.upper is not None and stop is None):
        return None
    return Part(target.id, value.value.id, -1 if dots else len(first), start or 0, stop)


def _number(bound: ast.expr | None) -> int | None:
    known = isinstance(bound, ast.Constant) and type(bound.value) is int
    return bound.value if known and isinstance(bound, ast.Constant) and isinstance(bound.value, int) else None
