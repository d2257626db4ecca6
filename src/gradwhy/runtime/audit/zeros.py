"""Finds where a gradient becomes zero: the nodes of one pass that are given a gradient and give none on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from gradwhy.runtime import graph
from gradwhy.runtime.audit.ledger import Zeroing
from gradwhy.runtime.recorder import Recorder
from gradwhy.runtime.sites import Site
from gradwhy.runtime.writes import memory_key

_NODES_AT_MOST = 4_000
_FOUND_AT_MOST = 8
# What fills a tensor with one number; a method and the function of torch.nn.init have names of their own.
_FILLING = ("zero_", "zeros_", "fill_", "constant_")
_DYING = ("Relu", "Threshold", "Hardtanh", "Elu", "Relu6")


@dataclass(slots=True)
class _Seen:
    """What passed one node: whether what came in was not zero, and of each result whether it is zero (None: undefined)."""

    came: bool
    zero: tuple[bool | None, ...]
    operand: int = 0
    constant: bool = False
    single: bool = False
    written: Site | None = None
    cleared: Site | None = None


class ZeroSearch:
    """Hooks on the nodes of one pass, which look and change nothing. ``wanted``: ids of the leaves whose gradient was zero
    before."""

    def __init__(self, walk: Mapping[Any, list[Any]], wanted: set[int], recorder: Recorder) -> None:
        self._recorder = recorder
        self._wanted = wanted
        self._ends = {node: leaf for node in walk if (leaf := graph.variable_of(node)) is not None}
        self._memory = {memory_key(leaf): id(leaf) for leaf in self._ends.values()}
        self._seen: dict[Any, _Seen] = {}
        self._parents: dict[Any, list[tuple[Any, int]]] = {}
        nodes = list(walk) if len(walk) <= _NODES_AT_MOST else []
        for node in nodes:
            for index, (following, _) in enumerate(node.next_functions):
                if following is not None:
                    self._parents.setdefault(following, []).append((node, index))
        self._handles = [node.register_hook(self._hook(node)) for node in nodes if node not in self._ends]

    def _hook(self, node: Any) -> Callable[[Any, Any], None]:
        def look(results: Any, given: Any) -> None:
            try:
                with torch._C.DisableTorchFunction():
                    self._look(node, results, given)
            except Exception as fault:
                self._recorder.note_fault(fault)

        return look

    def _look(self, node: Any, results: Any, given: Any) -> None:
        zero = tuple(None if each is None else not _any(each) for each in results)
        seen = _Seen(any(each is not None and _any(each) for each in given), zero)
        if seen.came and True in zero:
            for name, tensor in _saved(node):
                if tensor.numel() and not _any(tensor) and tensor.is_floating_point() and name != "result":
                    seen.operand = self._memory.get(memory_key(tensor), seen.operand)
                    seen.cleared = self._set_to_zero(tensor) or seen.cleared
                    seen.constant = seen.constant or (tensor.dim() == 0 and not seen.operand)
            seen.single = _is_over_one(node)
            seen.written = self._written(node) if plain_name(node.name()) in _DYING else seen.cleared
        self._seen[node] = seen

    def _written(self, node: Any) -> Site | None:
        """Who wrote the bias of the layer below, where all of it is far below zero."""
        for below, _ in node.next_functions:
            for end, _ in below.next_functions if below is not None else ():
                leaf = self._ends.get(end)
                if leaf is not None and leaf.dim() == 1 and float(leaf.detach().max()) < 0:
                    writes = self._recorder.writes.to(leaf, -1)
                    return writes[-1].site if writes else None
        return None

    def _set_to_zero(self, tensor: Any) -> Site | None:
        """Who filled a tensor with zeros after it was made."""
        writes = self._recorder.writes.to(tensor, -1)
        return next((w.site for w in reversed(writes) if getattr(w.func, "__name__", "") in _FILLING), None)

    def end(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def found(self) -> dict[int, tuple[Zeroing, ...]]:
        """For each wanted leaf whose gradient was zero in this pass: what made it so, the nearest to the leaf first."""
        result: dict[int, tuple[Zeroing, ...]] = {}
        for end, leaf in self._ends.items():
            if id(leaf) in self._wanted:
                found = tuple(dict.fromkeys(self._behind(end)))[:_FOUND_AT_MOST]
                if found:
                    result[id(leaf)] = found
        return result

    def _behind(self, end: Any) -> Iterator[Zeroing]:
        queue, done = [end], {end}
        while queue:
            node = queue.pop(0)
            edges = [(parent, index) for parent, index in self._parents.get(node, ()) if parent in self._seen]
            alive = [(parent, index) for parent, index in edges if self._seen[parent].zero[index] is False]
            if alive:
                yield self._zeroing(alive[0][0], "hook" if len(alive) == 1 else "cancels")
                continue
            for parent, index in edges:
                if self._seen[parent].zero[index] is None:
                    continue
                if self._seen[parent].came:
                    yield self._zeroing(parent, "operand" if self._seen[parent].operand else "operation")
                elif parent not in done:
                    done.add(parent)
                    queue.append(parent)

    def _zeroing(self, node: Any, kind: Any) -> Zeroing:
        seen = self._seen[node]
        made = self._recorder.nodes.made(graph.number_of(node))
        return Zeroing(plain_name(node.name()), made, kind, seen.operand, seen.constant, seen.single, seen.written)

    def forget(self) -> None:
        """Let go of the graph."""
        self._ends, self._seen, self._parents = {}, {}, {}


def plain_name(name: str) -> str:
    """ "Relu" of "ReluBackward0"."""
    return name.rpartition("::")[2].rstrip("0123456789").removesuffix("Backward")


def _any(tensor: Any) -> bool:
    values = tensor._values() if tensor.is_sparse else tensor
    return bool(values.any())


def _saved(node: Any) -> Iterator[tuple[str, Any]]:
    for each in graph.saved(node):
        if each.tensor is not None:
            yield each.name.removeprefix("_saved_"), each.tensor


def _is_over_one(node: Any) -> bool:
    """Whether a softmax or a normalization runs over one element."""
    name = plain_name(node.name())
    if name in ("Softmax", "LogSoftmax"):
        shape, dim = node._saved_result.shape, node._saved_dim
        # torch keeps dimensions as unsigned numbers here.
        dim = dim - (1 << 64) if dim >= 1 << 63 else dim
        return bool(shape) and int(shape[dim]) == 1
    if name == "NativeLayerNorm":
        return bool(math.prod(node._saved_normalized_shape) == 1)
    return False
