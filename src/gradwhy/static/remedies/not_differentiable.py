"""Writes an operation without the derivative that is wanted as others that have it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import called, dotted_name
from gradwhy.static.remedy import Fault, replace

_SIMPLE = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


def remedies(fault: Fault) -> Iterable[Fix]:
    """The twin of a call that means the same: torch's own formula for it, from the function's documentation."""
    twin = _TWINS.get(called(fault.node))
    if twin is None or not isinstance(fault.node, ast.Call) or not dotted_name(fault.node.func):
        return
    if not all(isinstance(a, _SIMPLE) for a in fault.node.args):
        return
    texts = [fault.source.segment(a) for a in fault.node.args]
    keywords = {k.arg: k.value for k in fault.node.keywords if k.arg}
    if len(keywords) != len(fault.node.keywords):
        return
    new = twin(fault, texts, {name: fault.source.segment(value) for name, value in keywords.items()})
    if new:
        if isinstance(fault.source.parents.get(fault.node), (ast.BinOp, ast.UnaryOp, ast.Attribute, ast.Subscript)):
            new = f"({new})"
        title = Message("not-differentiable.fix", {"result": Code(new)})
        yield Fix(title=title, applicability="unsafe", edits=(replace(fault, fault.node, new),))


def _attention(fault: Fault, given: list[str], named: dict[str, str]) -> str:
    """softmax(q k^T / sqrt(E)) v; no mask, no dropout."""
    if len(given) != 3 or named:
        return ""
    q, k, v = given
    return f"({q} @ {k}.transpose(-2, -1) / {q}.size(-1) ** 0.5).softmax(dim=-1) @ {v}"


def _distances(fault: Fault, given: list[str], named: dict[str, str]) -> str:
    """Two different sets of points: the norm of a difference of zero has no second derivative."""
    if len(given) != 2 or named or given[0] == given[1]:
        return ""
    return f"({given[0]}.unsqueeze(-2) - {given[1]}.unsqueeze(-3)).norm(dim=-1)"


def _counts(fault: Fault, given: list[str], named: dict[str, str]) -> str:
    """Only where the number of places is given."""
    index = given[0] if given else ""
    weights = named.get("weights") or (given[1] if len(given) > 1 else "")
    places = named.get("minlength") or (given[2] if len(given) > 2 else "")
    simple = weights.replace("_", "").replace(".", "").isalnum()
    return f"{weights}.new_zeros({places}).index_add(0, {index}, {weights})" if index and simple and places else ""


def _cross_entropy(fault: Fault, given: list[str], named: dict[str, str]) -> str:
    """The weighted mean over class numbers, written out: sum(w[y] * loss) / sum(w[y])."""
    weight, target = named.get("weight", ""), given[1] if len(given) == 2 else ""
    if set(named) != {"weight"} or not target or not weight.replace("_", "").replace(".", "").isalnum():
        return ""
    each = f'{fault.source.segment(fault.node.func)}({given[0]}, {target}, reduction="none")'  # type: ignore[attr-defined]
    return f"({weight}[{target}] * {each}).sum() / {weight}[{target}].sum()"


_Twin = Callable[[Fault, list[str], dict[str, str]], str]
_TWINS: dict[str, _Twin] = {
    "scaled_dot_product_attention": _attention,
    "cdist": _distances,
    "bincount": _counts,
    "cross_entropy": _cross_entropy,
}
