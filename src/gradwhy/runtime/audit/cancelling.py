"""Differences whose derivative is zero by construction: ``x - (x + constant)``, as of a straight-through value and its input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradwhy.runtime import graph
from gradwhy.runtime.audit.ledger import Ledger
from gradwhy.runtime.audit.zeros import plain_name
from gradwhy.runtime.recorder import Recorder

KIND = "cancels"


def scan(walk: Mapping[Any, list[Any]], recorder: Recorder, ledger: Ledger) -> None:
    """Mark the lines of such differences in a graph (torch/autograd/graph.py, ``Node.next_functions``)."""
    for node in walk:
        if plain_name(node.name()) == "Sub" and _cancels(node):
            number = graph.number_of(node)
            made = recorder.nodes.made(number)
            if made is not None:
                ledger.mark(KIND, made.site, number, {})


def _cancels(node: Any) -> bool:
    edges = node.next_functions
    if len(edges) != 2 or edges[0][0] is None or edges[1][0] is None:
        return False
    for (a, number), (b, _) in ((edges[0], edges[1]), (edges[1], edges[0])):
        if plain_name(b.name()) in ("Add", "Sub"):
            inner = b.next_functions
            if inner and inner[0] == (a, number) and all(following is None for following, _ in inner[1:]):
                return True
    return False
