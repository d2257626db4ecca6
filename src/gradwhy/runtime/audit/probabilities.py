"""A softmax or a sigmoid whose result a loss takes for logits: its graph has the two, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradwhy.runtime import graph
from gradwhy.runtime.audit.ledger import Ledger
from gradwhy.runtime.audit.zeros import plain_name
from gradwhy.runtime.recorder import Recorder

KIND = "probabilities"
# torch's names of nodes (tools/autograd/derivatives.yaml): what a loss makes of its logits, and what gives probabilities.
_APPLIED = {"LogSoftmax": "softmax", "BinaryCrossEntropyWithLogits": "sigmoid"}
_GIVEN = ("Softmax", "Sigmoid")
_SAME_VALUES = (
    "View",
    "UnsafeView",
    "Reshape",
    "ReshapeAlias",
    "Squeeze",
    "Unsqueeze",
    "ToCopy",
    "Select",
    "Slice",
    "Index",
)

_MOST_DIMENSIONS = 64


def scan(walk: Mapping[Any, list[Any]], recorder: Recorder, ledger: Ledger) -> None:
    """Mark the lines that gave such probabilities (torch/autograd/graph.py, ``Node.next_functions``)."""
    for node in walk:
        applied = _APPLIED.get(plain_name(node.name()))
        given = _given(node) if applied is not None else None
        if given is None:
            continue
        number = graph.number_of(given)
        made, loss = recorder.nodes.made(number), recorder.nodes.made(graph.number_of(node))
        if made is not None:
            facts = {"applied": applied, "loss": loss.site if loss is not None else made.site}
            ledger.mark(KIND, made.site, number, facts)


def _given(node: Any) -> Any:
    """The node of the probabilities, through those that keep their values; a softmax over the same dimension as the loss's."""
    inner, direct = _first(node), True
    while inner is not None and plain_name(inner.name()) in _SAME_VALUES:
        inner, direct = _first(inner), False
    if inner is None or plain_name(inner.name()) not in _GIVEN:
        return None
    dims = [getattr(each, "_saved_dim", None) for each in (node, inner)]
    # A dimension from the end is kept as it was given, as an unsigned number.
    same = any(dim is None or dim > _MOST_DIMENSIONS for dim in dims) or dims[0] == dims[1]
    return inner if same or not direct else None


def _first(node: Any) -> Any:
    edges = node.next_functions
    return edges[0][0] if edges else None
