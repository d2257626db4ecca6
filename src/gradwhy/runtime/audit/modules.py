"""What live modules and variables show at some of the steps: modes, flags that do nothing, repeated layers, old graphs."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from gradwhy.runtime import graph
from gradwhy.runtime.audit.roster import modules_in
from gradwhy.runtime.names import Names
from gradwhy.runtime.records import node_of

if TYPE_CHECKING:
    from gradwhy.runtime.audit.observer import Observer

_FLAG = "requires_grad"
_BATCH_NORM = torch.nn.modules.batchnorm._BatchNorm
_DROPOUT = torch.nn.modules.dropout._DropoutNd
_NODES_AT_MOST = 3_000
_TENSORS_AT_MOST = 2_000


@dataclass(slots=True)
class Sensitive:
    """A module that computes something else in training than in evaluation. ``counts``: the batches its statistics had seen."""

    key: int
    name: str
    root: str
    kind: str
    frozen: bool
    training: bool
    parameters: frozenset[int]
    counts: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class OddFlag:
    """An attribute that looks like ``requires_grad`` and is not torch's."""

    name: str
    value: bool
    owner: str
    on_module: bool
    parameters: frozenset[int]


@dataclass(frozen=True, slots=True)
class Repeated:
    """One module that a container has several times."""

    container: str
    kind: str
    times: int


@dataclass(slots=True)
class Kept:
    """A name that leads to graphs of earlier steps: how many of their nodes or tensors, each time that was looked at."""

    name: str
    sizes: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    number: int = -1
    """torch's number of the node of the last tensor that was found there."""


@dataclass(slots=True)
class LeftOut:
    """A single number that the program has computed and that the pass before the step did not go through: the name of it, the
    leaves that only it depends on, and at how many looks."""

    name: str
    number: int
    leaves: frozenset[int]
    looks: int = 1


class Inspection:
    """Facts by name; no module and no tensor is held."""

    def __init__(self) -> None:
        self.sensitive: dict[int, Sensitive] = {}
        self.flags: dict[tuple[str, bool, bool], OddFlag] = {}
        self.single: dict[int, tuple[str, str]] = {}
        """id of a module that normalizes over one element -> its name and kind."""
        self.repeated: dict[str, Repeated] = {}
        self.kept: dict[str, Kept] = {}
        self.left_out: dict[str, LeftOut] = {}

    def look(self, names: Names, observer: Observer) -> None:
        """Everything that one look can tell."""
        for name, root, module in modules_in(names):
            self._module(name, root, module)
        self._graphs(names, observer)
        self._left(names, observer)

    def _module(self, name: str, root: str, module: Any) -> None:
        own = [parameter for parameter in module._parameters.values() if parameter is not None]
        if isinstance(module, (_BATCH_NORM, _DROPOUT)):
            known = self.sensitive.get(id(module))
            if known is None or known.kind != type(module).__name__:
                known = Sensitive(id(module), name, root, type(module).__name__, False, True, frozenset(map(id, own)))
                self.sensitive[id(module)] = known
            known.frozen = bool(own) and not any(parameter.requires_grad for parameter in own)
            known.training = module.training
            counter = getattr(module, "num_batches_tracked", None)
            if isinstance(counter, torch.Tensor) and counter.device.type != "meta":
                known.counts.append(int(counter))
                del known.counts[1:-1]
        if isinstance(module, torch.nn.LayerNorm) and math.prod(module.normalized_shape) == 1:
            self.single[id(module)] = (name, type(module).__name__)
        for parameter in own:
            self._odd(vars(parameter), name, False, [parameter])
        self._odd(vars(module), name, True, list(module.parameters()))
        children = [child for child in module._modules.values() if child is not None]
        for child in {id(c): c for c in children}.values():
            times = sum(other is child for other in children)
            if times > 1 and next(child.parameters(), None) is not None:
                self.repeated[name] = Repeated(name, type(child).__name__, times)

    def _odd(self, attributes: dict[str, Any], owner: str, on_module: bool, parameters: list[Any]) -> None:
        for attribute, value in attributes.items():
            if type(value) is not bool or (attribute == _FLAG and not on_module) or not parameters:
                continue
            if not difflib.get_close_matches(attribute, [_FLAG], cutoff=0.8):
                continue
            key = (attribute, value, on_module)
            known = self.flags.get(key)
            ids = frozenset(id(p) for p in parameters if p.requires_grad is not value)
            if ids or known is not None:
                before = known.parameters if known is not None else frozenset()
                self.flags[key] = OddFlag(
                    attribute, value, owner if known is None else known.owner, on_module, before | ids
                )

    # -- what nothing was differentiated from

    def _left(self, names: Names, observer: Observer) -> None:
        last = next((p for p in reversed(observer.ledger.passes) if p.accumulates), None)
        for name, tensor in _with_graph(names) if last is not None else ():
            node = node_of(tensor) if tensor.dim() == 0 else None
            if node is None or last is None or (number := graph.number_of(node)) in last.numbers:
                continue
            leaves = frozenset(map(id, graph.leaves(tensor, _NODES_AT_MOST))) - last.leaves
            if leaves:
                before = self.left_out.get(name)
                self.left_out[name] = LeftOut(name, number, leaves, before.looks + 1 if before is not None else 1)

    # -- graphs of earlier steps

    def _graphs(self, names: Names, observer: Observer) -> None:
        """Tensors in sight whose graphs go back to steps that are over."""
        steps = observer.ledger.steps
        passes = [p for p in observer.ledger.passes if p.accumulates and p.numbers]
        if len(passes) < 3:
            return
        # What the pass before the last one had begun with is over for certain.
        over = passes[-2].order
        limit = max((s.number for s in steps if s.order < over), default=-1)
        if limit < 0:
            return
        found: dict[str, list[tuple[int, int]]] = {}
        for name, tensor in _with_graph(names):
            node = node_of(tensor)
            if node is None:
                continue
            old = _old_nodes(node, limit)
            if old:
                container = re.sub(r"(\[[^\]]*\])+$", "", name)
                found.setdefault(container, []).append((old, graph.number_of(node)))
        total = sum(observer.ledger.updates.values())
        for name, held in found.items():
            kept = self.kept.setdefault(name, Kept(name))
            kept.sizes.append(sum(size for size, _ in held))
            kept.steps.append(total)
            kept.number = max(number for _, number in held)


def _with_graph(names: Names) -> Iterator[tuple[str, Any]]:
    count = 0
    for name, tensor in names.tensors():
        if tensor.requires_grad and not tensor.is_leaf:
            yield name, tensor
            count += 1
            if count >= _TENSORS_AT_MOST:
                return


def _old_nodes(start: Any, limit: int) -> int:
    """How many nodes behind one were made before a number."""
    walk = graph.nodes_from([start], _NODES_AT_MOST)
    return sum(0 <= graph.number_of(node) < limit for node in walk)
