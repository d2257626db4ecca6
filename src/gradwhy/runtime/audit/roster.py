"""The user's names for the leaves that can be trained, and where each lives: registered, hidden from its module, or alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import torch

from gradwhy.runtime import graph
from gradwhy.runtime.account import Place, called, head_of
from gradwhy.runtime.classes import assignments, class_of, maker_of
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.names import Names, attributes_of
from gradwhy.runtime.recorder import Recorder
from gradwhy.runtime.records import node_of
from gradwhy.runtime.sites import located
from gradwhy.runtime.writes import Write, memory_key

Home: TypeAlias = Literal["registered", "hidden", "computed", "alone", ""]
_REGISTRIES = ("_parameters", "_buffers", "_modules")
_REGISTERING = ("Parameter", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict")
_DEEPEST = 3
_ITEMS_AT_MOST = 256


@dataclass(slots=True)
class Member:
    """One leaf. ``module`` is the name of the module that holds it, ``root`` that of the outermost.

    ``home``: "registered" as a parameter of its module; "hidden" in a list, a dict, an object or a plain attribute of one;
    "computed" when a module holds what was computed from it; "alone" in a variable of the program. ``place`` is the line that put
    it there.
    """

    key: int
    name: str
    module: str
    root: str
    shape: tuple[int, ...]
    requires_grad: bool
    home: Home
    training: bool = True
    place: Place | None = None
    alive: bool = True
    is_parameter: bool = True
    by_hand: bool = False
    """Whether its values changed between two looks between which gradients came, for whatever reason."""
    passes: int = 0
    holder: int = 0
    """id of the module that has it."""
    loaded: bool = False
    """Whether its module had its values loaded."""
    total: float = 0.0
    written: Write | None = None
    """What last wrote to it in place, as far as is on record."""


class Roster:
    """Read from the live frames at some of the steps; ids, names and lines only."""

    def __init__(self) -> None:
        self.members: dict[int, Member] = {}
        self.names = 0
        self.bearers: dict[str, set[int]] = {}
        """Name of a leaf -> ids of all that have had it."""
        self.kinds: dict[str, str] = {}
        """Name of a module -> name of its class."""
        self.makers: dict[str, str] = {}
        """Name of a module -> who wrote its class, as ``maker_of`` tells."""
        self.files: set[str] = set()
        self._reached: Mapping[int, int] = {}
        self._written: dict[int, Write] = {}

    def name(self, key: int) -> str:
        member = self.members.get(key)
        return member.name if member is not None else ""

    def look(
        self, failure: Failure, names: Names, loaded: set[int], reached: Mapping[int, int], recorder: Recorder
    ) -> None:
        """Name what is alive now. Members that are not found any more stay, with ``alive`` False."""
        self._reached = reached
        self._written = {write.key: write for write in recorder.writes.entries}
        for member in self.members.values():
            member.alive = False
        for live in failure.user_frames:
            self.files.add(live.site.file)
        # What is registered anywhere is hidden nowhere: a module of a trainer's leads to the trainer, and back to all modules.
        for hidden in (False, True):
            for name, root, module in modules_in(names):
                self._module(name, root, module, id(module) in loaded, recorder, hidden)
        for name, tensor in names.tensors():
            if tensor.requires_grad and tensor.is_leaf and not self._is_alive(tensor):
                self._add(
                    Member(
                        id(tensor), name, name.rpartition(".")[0], name, tuple(tensor.shape), True, "alone",
                        is_parameter=issubclass(type(tensor), torch.nn.Parameter), total=_total(tensor),
                    )
                )  # fmt: skip
        self.names += 1

    def keep(self, tensor: Any) -> None:
        """A leaf that an optimizer holds and that has no name: it is known by its id."""
        if not self._is_alive(tensor):
            known = self.members.get(id(tensor))
            if known is None or known.shape != tuple(tensor.shape):
                shape = tuple(tensor.shape)
                self.members[id(tensor)] = Member(id(tensor), "", "", "", shape, tensor.requires_grad, "", alive=False)

    def _is_alive(self, tensor: Any) -> bool:
        known = self.members.get(id(tensor))
        return known is not None and known.alive and known.shape == tuple(tensor.shape)

    def _add(self, member: Member) -> None:
        known = self.members.get(member.key)
        if known is not None and known.alive:
            return
        member.passes = self._reached.get(member.key, 0)
        if known is not None and known.shape == member.shape:
            moved = known.total != member.total and member.passes > known.passes
            member.by_hand = known.by_hand or moved
        self.members[member.key] = member
        self.bearers.setdefault(member.name, set()).add(member.key)

    def _module(self, name: str, root: str, module: Any, loaded: bool, recorder: Recorder, hidden: bool) -> None:
        """Add what a module has registered, or what it keeps elsewhere."""
        self.kinds[name] = type(module).__name__
        if name not in self.makers:
            self.makers[name] = maker_of(type(module))

        def add(tensor: Any, attribute: str, home: Home, place: Place | None) -> None:
            self._add(
                Member(
                    id(tensor), f"{name}.{attribute}", name, root, tuple(tensor.shape), tensor.requires_grad, home,
                    module.training, place,
                    is_parameter=issubclass(type(tensor), torch.nn.Parameter), total=_total(tensor),
                    loaded=loaded, holder=id(module), written=self._written.get(memory_key(tensor)),
                )
            )  # fmt: skip

        if not hidden:
            for attribute, parameter in module._parameters.items():
                if parameter is not None and not torch.nn.parameter.is_lazy(parameter):
                    add(parameter, attribute, "registered", None)
            return
        own = attributes_of(module) or {}
        for attribute, held in own.items():
            if attribute in _REGISTRIES or attribute.startswith("__"):
                continue
            for path, tensor in _hidden(attribute, held, 0, set()):
                if not tensor.requires_grad:
                    continue
                place = class_line(held) or written(module, attribute)
                if tensor.is_leaf:
                    add(tensor, path, "hidden", place)
                elif node_of(tensor) is not None:
                    made = recorder.nodes.made(graph.number_of(node_of(tensor)))
                    for leaf in graph.leaves(tensor, 64):
                        if not self._is_alive(leaf):
                            add(leaf, path, "computed", Place.of(made.site) if made is not None else place)


def modules_in(names: Names) -> Iterator[tuple[str, str, Any]]:
    """(its name, the name of the outermost, module) of all modules in sight, each once: as part of the largest that has it."""
    seen: set[int] = set()
    for root, module in sorted(names.modules.items(), key=lambda item: -_size(item[1])):
        for path, inner in module.named_modules():
            if id(inner) not in seen:
                seen.add(id(inner))
                yield f"{root}.{path}" if path else root, root, inner


def class_line(held: Any) -> Place | None:
    """The head of the user's class that an object is of, where that is no module and holds parameters on its own."""
    if isinstance(held, (torch.Tensor, torch.nn.Module, list, tuple, dict)):
        return None
    found = class_of(held)
    if found is None:
        return None
    source, kind = found
    return Place(head_of(source, kind), f"class {kind.name}")


def written(module: Any, attribute: str) -> Place | None:
    """The line of a module's class that assigns an attribute."""
    found = class_of(module)
    if found is None:
        return None
    source, kind = found
    values = list(assignments(kind, attribute))
    # Of several, the one that registers is not the one to blame.
    values.sort(key=lambda value: isinstance(value, ast.Call) and called(value) in _REGISTERING)
    return Place(located(source, values[0]), source.segment(values[0])) if values else None


def _hidden(path: str, held: Any, depth: int, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """(path, tensor) of what an attribute leads to, past containers, plain objects and modules."""
    if id(held) in seen or depth > _DEEPEST:
        return
    if issubclass(type(held), torch.Tensor):
        yield path, held
        return
    if isinstance(held, (str, int, float, bool, type(None), type)):
        return
    seen.add(id(held))
    if issubclass(type(held), torch.nn.Module):
        yield from ((f"{path}.{name}", parameter) for name, parameter in held.named_parameters())
    elif type(held) in (list, tuple):
        for index, item in zip(range(_ITEMS_AT_MOST), held):
            yield from _hidden(f"{path}[{index}]", item, depth + 1, seen)
    elif type(held) is dict:
        for key in list(held)[:_ITEMS_AT_MOST]:
            if type(key) in (str, int):
                yield from _hidden(f"{path}[{key!r}]", held[key], depth + 1, seen)
    elif (own := attributes_of(held)) is not None and not isinstance(held, torch.optim.Optimizer):
        for name, item in list(own.items())[:_ITEMS_AT_MOST]:
            yield from _hidden(f"{path}.{name}", item, depth + 1, seen)


def _total(tensor: Any) -> float:
    values = tensor.detach()
    return float(values.double().sum()) if values.device.type != "meta" and not values.is_sparse else 0.0


def _size(module: Any) -> int:
    return sum(1 for _ in module.parameters())
