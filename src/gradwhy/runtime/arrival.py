"""Calls back once torch has been imported by the program itself: not before, since what a script sets first must count."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType


class _Loader(importlib.abc.Loader):
    """Runs the real loader, puts it back in its place and then calls back."""

    def __init__(self, real: importlib.abc.Loader, then: Callable[[], None]) -> None:
        self.real, self.then = real, then

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.real.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self.real
        module.__loader__ = self.real
        self.real.exec_module(module)
        self.then()

    def __getattr__(self, name: str) -> object:
        return getattr(self.real, name)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self.name, self.then = name, then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        sys.meta_path.remove(self)
        for finder in sys.meta_path:
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader, self.then)
                return spec
        return None


def when_imported(name: str, then: Callable[[], None]) -> Callable[[], None]:
    """Call ``then`` right after the module ``name`` was imported; at once where it already is. Returns how to call that off."""
    if name in sys.modules:
        then()
        return lambda: None
    finder = _Finder(name, then)
    sys.meta_path.insert(0, finder)

    def off() -> None:
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)

    return off


def is_installed(name: str) -> bool:
    """Whether a top-level module could be imported, without importing it."""
    if name in sys.modules:
        return sys.modules[name] is not None
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
