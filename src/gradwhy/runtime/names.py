"""The user's own names for what is alive: modules, parameters and tensors in the frames of a traceback."""

from __future__ import annotations

import re
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

import torch

from gradwhy.runtime.failure import LiveFrame
from gradwhy.runtime.writes import memory_key

_OBJECTS_AT_MOST = 20_000
_ITEMS_AT_MOST = 512
_DEEPEST = 6
_DUNDER = re.compile("__")
# The names under which IPython keeps results and inputs: nobody's own (IPython documentation, "Output caching system").
_IPYTHON = re.compile(r"__|(?:_+|_i+|_i?\d+|_[doi]h|In|Out)\Z")


def _is(value: Any, kind: type) -> bool:
    # isinstance() asks a proxy object for its class, which is the user's code.
    return issubclass(type(value), kind)


def attributes_of(value: Any) -> dict[str, Any] | None:
    """The instance dictionary of an object, past any ``__getattr__`` or ``__getattribute__`` of its class."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except Exception:
        return None
    return found if type(found) is dict else None


class Names:
    """Read once from the live frames; holds the modules only as long as the analysis runs."""

    def __init__(self, frames: list[LiveFrame]) -> None:
        self.modules: dict[str, Any] = {}
        self.parameters: dict[int, str] = {}
        self.owners: dict[int, str] = {}
        self.optimizers: dict[str, Any] = {}
        self._variables: dict[int, str] = {}
        self._scopes = list(_scopes(frames))
        for scope in self._scopes:
            self._scan(scope)
        self._scan_hosts(frames)
        for name, module in sorted(self.modules.items(), key=lambda item: -_size(item[1])):
            for inner, parameter in module.named_parameters():
                self.parameters.setdefault(id(parameter), f"{name}.{inner}")
                self.owners.setdefault(id(parameter), name)

    def _scan(self, scope: Mapping[str, Any]) -> None:
        for name, value in scope.items():
            self._take(name, value)
            inner = attributes_of(value)
            if inner is not None and not _is(value, torch.nn.Module) and not _is(value, type):
                for attribute, held in inner.items():
                    self._take(f"{name}.{attribute}", held)
            elif type(value) in (list, tuple) and len(value) <= 64:
                for index, held in enumerate(value):
                    self._take(f"{name}[{index}]", held)
            elif type(value) is dict and len(value) <= 64:
                for key, held in value.items():
                    if type(key) is str:
                        self._take(f"{name}[{key!r}]", held)
            if _is(value, torch.nn.Module):
                for attribute, held in value._modules.items():
                    if held is not None and name == "self":
                        self._take(f"self.{attribute}", held)

    def _scan_hosts(self, frames: list[LiveFrame]) -> None:
        """A module that only a trainer has a variable for: ``Trainer().fit(Model())``. It goes by the name of its class."""
        known = {id(part) for module in self.modules.values() for part in module.modules()}
        held = [
            value
            for live in frames
            if not live.is_users and "/torch/" not in live.site.file.replace("\\", "/")
            for value in live.frame.f_locals.values()
            # One that is being copied or unpickled has no parts yet.
            if _is(value, torch.nn.Module) and id(value) not in known and "_modules" in (attributes_of(value) or {})
        ]
        for module in sorted({id(each): each for each in held}.values(), key=_size, reverse=True):
            if id(module) not in known:
                name = type(module).__name__
                self.modules[name if name not in self.modules else f"{name}#{len(self.modules)}"] = module
                known |= {id(part) for part in module.modules()}

    def _take(self, name: str, value: Any) -> None:
        if _is(value, torch.nn.Module):
            if not any(value is known for known in self.modules.values()):
                self.modules[name] = value
        elif _is(value, torch.optim.Optimizer):
            self.optimizers.setdefault(name, value)
        elif _is(value, torch.Tensor):
            self._variables.setdefault(id(value), name)

    def variable(self, tensor: Any) -> str:
        """The name of a tensor in a live frame, or ""."""
        return self._variables.get(id(tensor), "")

    def tensors(self) -> Iterator[tuple[str, Any]]:
        """(the user's name, tensor) of what can be reached from the live frames: attributes, buffers, items of containers.
        The shortest names come first; no attribute or item is looked up through the user's own code."""
        queue: deque[tuple[str, Any, int]] = deque((n, v, 0) for scope in self._scopes for n, v in scope.items())
        seen: set[int] = set()
        while queue and len(seen) < _OBJECTS_AT_MOST:
            name, value, depth = queue.popleft()
            if id(value) in seen:
                continue
            seen.add(id(value))
            if _is(value, torch.Tensor):
                yield name, value
            elif depth < _DEEPEST and not isinstance(value, (type, ModuleType, FunctionType, torch.optim.Optimizer)):
                queue.extend((inner, held, depth + 1) for inner, held in _inside(name, value))

    def of_memory(self, tensor: Any) -> str:
        """The name of a parameter or tensor that shares its memory with ``tensor``, or ""."""
        key = memory_key(tensor)
        if not key:
            return ""
        for module in self.modules.values():
            for parameter in module.parameters():
                if memory_key(parameter) == key:
                    return self.parameters.get(id(parameter), "")
        return next((name for name, other in self.tensors() if memory_key(other) == key), "")

    def all_parameters(self) -> Iterator[Any]:
        """The parameters of all modules in sight, each once."""
        seen: set[int] = set()
        for module in self.modules.values():
            for parameter in module.parameters():
                if id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield parameter

    def owner_of(self, ids: tuple[int, ...] | list[int]) -> str:
        """The name of the module that most of these parameters belong to, or ""."""
        counts: dict[str, int] = {}
        for key in ids:
            if key in self.owners:
                counts[self.owners[key]] = counts.get(self.owners[key], 0) + 1
        return max(counts, key=lambda name: counts[name]) if counts else ""


def _scopes(frames: list[LiveFrame]) -> Iterator[dict[str, Any]]:
    for live in reversed(frames):
        if live.is_users:
            # At the top of a module the two are one.
            if live.frame.f_locals is not live.frame.f_globals:
                # A copy, so that the frame's own can be emptied (``failure.let_go``).
                yield dict(live.frame.f_locals)
            shown = live.frame.f_globals
            hidden = _IPYTHON if "get_ipython" in shown else _DUNDER
            yield {name: value for name, value in shown.items() if not hidden.match(name)}


def _inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if type(value) in (list, tuple, deque):
        yield from ((f"{name}[{index}]", held) for index, held in zip(range(_ITEMS_AT_MOST), value))
    elif type(value) in (dict, defaultdict, OrderedDict):
        yield from ((f"{name}[{key!r}]", value[key]) for key in list(value)[:_ITEMS_AT_MOST] if type(key) in (str, int))
    elif (attributes := attributes_of(value)) is not None:
        for attribute, held in list(attributes.items())[:_ITEMS_AT_MOST]:
            if _is(value, torch.nn.Module) and attribute in ("_parameters", "_buffers", "_modules"):
                yield from ((f"{name}.{inner}", part) for inner, part in held.items())
            elif not attribute.startswith("__"):
                yield f"{name}.{attribute}", held


def _size(module: Any) -> int:
    return sum(1 for _ in module.parameters())
