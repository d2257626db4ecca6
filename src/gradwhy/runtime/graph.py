"""Walks autograd graphs from the outside: which leaf tensors lie behind a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradwhy.runtime.records import node_of


def leaves(tensor: Any, limit: int = 20_000) -> Iterator[Any]:
    """The leaf tensors that a tensor's graph ends in, each once; at most ``limit`` nodes are visited.

    Leaves are the ``variable`` of ``AccumulateGrad`` nodes (torch/autograd/graph.py, ``Node.next_functions``).
    """
    first = node_of(tensor)
    if first is None:
        if tensor._base is not None and node_of(tensor._base) is not None:
            yield from leaves(tensor._base, limit)
        elif tensor.requires_grad:
            yield tensor
        return
    stack, seen = [first], set[Any]()
    while stack and len(seen) < limit:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if variable is not None and node.name().endswith("AccumulateGrad"):
            yield variable
        stack.extend(following for following, _ in node.next_functions if following is not None)
