"""The user's own names for what is alive: modules, parameters and tensors in the frames of a traceback."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from gradwhy.runtime.failure import LiveFrame


def _is(value: Any, kind: type) -> bool:
    # isinstance() asks a proxy object for its class, which is the user's code.
    return issubclass(type(value), kind)


def _attributes(value: Any) -> dict[str, Any] | None:
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
        for live in reversed(frames):
            if not live.is_users:
                continue
            self._scan(live.frame.f_locals)
            self._scan({k: v for k, v in live.frame.f_globals.items() if not k.startswith("__")})
        for name, module in sorted(self.modules.items(), key=lambda item: -_size(item[1])):
            for inner, parameter in module.named_parameters():
                self.parameters.setdefault(id(parameter), f"{name}.{inner}")
                self.owners.setdefault(id(parameter), name)

    def _scan(self, scope: Mapping[str, Any]) -> None:
        for name, value in scope.items():
            self._take(name, value)
            inner = _attributes(value)
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


def _size(module: Any) -> int:
    return sum(1 for _ in module.parameters())
