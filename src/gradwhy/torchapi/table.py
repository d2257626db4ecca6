"""Answer what a torch name does to a gradient: a typed view of ops.toml that needs no torch."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]

# Names that torch prints in a second way: (what it prints, what a row is filed under).
_PREFIXES = (
    ("torch._VariableFunctionsClass.", "torch."),
    ("torch._C.TensorBase.", "torch.Tensor."),
    ("torch.functional.", "torch."),
    ("torch.ops.aten.", "aten."),
)


@dataclass(frozen=True, slots=True)
class OpRow:
    """What a family of functions does to the gradient path of its input (ops.toml explains the fields)."""

    names: tuple[str, ...]
    effect: str
    because: str
    examples: tuple[str, ...]
    cause: str | None = None
    outputs: tuple[str, ...] = ()
    value: str | None = None
    when: str | None = None
    seen: bool = True
    keeps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ArgumentRow:
    """An argument that wants no gradient path: the target of a loss, an index, a mask, a setting."""

    names: tuple[str, ...]
    role: str
    position: int | None = None
    keyword: str | None = None
    kind: str | None = None
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LibraryRow:
    """Functions inside torch's own Python files that cut, or stop recording, on the caller's behalf."""

    file: str
    functions: tuple[str, ...]
    cause: str
    examples: tuple[str, ...]
    harmless: bool = False


@dataclass(frozen=True, slots=True)
class KeepRow:
    """Functions whose result has a path where one of their inputs has one."""

    names: tuple[str, ...]
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProbabilityRow:
    """Functions that give probabilities: over the classes of a dimension, or of each entry by itself."""

    names: tuple[str, ...]
    over: str
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LogitRow:
    """Losses that take the softmax or sigmoid of their first argument themselves."""

    names: tuple[str, ...]
    applies: str
    same: str
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModuleRow:
    """Classes of torch.nn, the parameters that they make, and what a call of one gives."""

    names: tuple[str, ...]
    parameters: tuple[str, ...]
    examples: tuple[str, ...]
    inner: bool = False
    outputs: str = "y"


@dataclass(frozen=True, slots=True)
class Table:
    """Everything that ops.toml says, with the look-ups that the engines need."""

    ops: tuple[OpRow, ...]
    arguments: tuple[ArgumentRow, ...]
    libraries: tuple[LibraryRow, ...]
    keepers: tuple[KeepRow, ...]
    unsaved: tuple[KeepRow, ...]
    output_saved: tuple[KeepRow, ...]
    input_saved: tuple[KeepRow, ...]
    views: tuple[KeepRow, ...]
    modules: tuple[ModuleRow, ...]
    probabilities: tuple[ProbabilityRow, ...]
    logits: tuple[LogitRow, ...]
    _ops: Mapping[str, OpRow]
    _arguments: Mapping[str, tuple[ArgumentRow, ...]]
    _keeps: frozenset[str]
    _unsaved: frozenset[str]
    _output_saved: frozenset[str]
    _input_saved: frozenset[str]
    _views: frozenset[str]
    _layers: Mapping[str, str]
    _modules: Mapping[str, ModuleRow]
    _probabilities: Mapping[str, ProbabilityRow]
    _logits: Mapping[str, LogitRow]

    def keeps(self, name: str) -> bool:
        """Say whether a function is known to keep the path: `torch.sum`, `torch.Tensor.sum`, ..."""
        return name in self._keeps

    def saves(self, name: str) -> bool:
        """Say whether a function that keeps the path saves a tensor for backward."""
        return name in self._keeps and name not in self._unsaved

    def saves_output(self, name: str) -> bool:
        """Say whether a function, or a layer without parameters, saves its result for backward."""
        return self._layers.get(name, name) in self._output_saved

    def saves_input(self, name: str) -> bool:
        """Say whether a function or a layer saves its first input for backward."""
        row = self._modules.get(name)
        return bool(row and row.parameters) or self._layers.get(name, name) in self._input_saved

    def is_view(self, name: str) -> bool:
        """Say whether a function may give a view of its input, or the input itself."""
        return name in self._views

    def gives_probabilities(self, name: str) -> str | None:
        """Say what a function or a layer gives probabilities of: the "class" of a dimension, "each" entry, or none."""
        row = self._probabilities.get(self._layers.get(name, name))
        return row.over if row is not None else None

    def wants_logits(self, name: str) -> str | None:
        """Return what a loss applies to its first argument itself: softmax, sigmoid, or nothing."""
        row = self._logits.get(name)
        return row.applies if row is not None else None

    def module(self, name: str) -> ModuleRow | None:
        """Return the row of a class of torch.nn: `torch.nn.Linear`."""
        return self._modules.get(name)

    def names_of(self, row: OpRow) -> frozenset[str]:
        """Return the full names of a row: `op` also finds it under spellings that only resemble them."""
        return _full(row)

    def op(self, name: str) -> OpRow | None:
        """Return the row of `torch.argmax`, `torch.Tensor.argmax`, `argmax`, `torch.Tensor.data`, ..."""
        return next((self._ops[full] for full in _spelt(name) if full in self._ops), None)

    def wants_no_gradient(self, name: str) -> bool:
        """Say whether a function has an argument that wants no gradient path."""
        return any(full in self._arguments for full in _spelt(name))

    def argument(self, name: str, position: int | None, keyword: str | None) -> ArgumentRow | None:
        """Return the row of one argument of a call, given by place (`self` is place 0) or by keyword."""
        for full in _spelt(name):
            for row in self._arguments.get(full, ()):
                if keyword is not None and keyword == row.keyword:
                    return row
                if keyword is None and position is not None and position == row.position:
                    return row
        return None

    def is_loss(self, name: str) -> bool:
        """Say whether a name is a loss: a function of torch.nn.functional or a module class of torch.nn."""
        return any(row.kind == "loss" for full in _spelt(name) for row in self._arguments.get(full, ()))

    def library(self, filename: str, function: str) -> LibraryRow | None:
        """Return the row of a frame inside torch, by the frame's file and function name."""
        path = "/" + filename.replace("\\", "/")
        for row in self.libraries:
            inside = f"/{row.file}" in path if row.file.endswith("/") else path.endswith(f"/{row.file}")
            if inside and (function in row.functions or "*" in row.functions):
                return row
        return None


@cache
def load() -> Table:
    """Read ops.toml once and return the table."""
    return _built(tomllib.loads(_text()))


def about(words: Iterable[str]) -> Table:
    """The table of the rows that have one of these words in them, such as the last parts of names: quick to read."""
    rows = ["[[" + row for row in _text().split("\n[[")[1:]]
    wanted = tuple(form.format(word) for word in words for form in ('"{}"', '.{}"', ".{}.", '.__{}__"'))
    return _built(tomllib.loads("\n".join(row for row in rows if any(word in row for word in wanted))))


def _text() -> str:
    return (Path(__file__).parent / "ops.toml").read_text(encoding="utf-8")


def _built(data: Mapping[str, Any]) -> Table:
    ops = tuple(OpRow(**_fields(raw)) for raw in data.get("op", ()))
    arguments = tuple(ArgumentRow(**_fields(raw)) for raw in data.get("argument", ()))
    libraries = tuple(LibraryRow(**_fields(raw)) for raw in data.get("library", ()))
    keepers = tuple(KeepRow(**_fields(raw)) for raw in data.get("keep", ()))
    unsaved = tuple(KeepRow(**_fields(raw)) for raw in data.get("unsaved", ()))
    output_saved = tuple(KeepRow(**_fields(raw)) for raw in data.get("output-saved", ()))
    input_saved = tuple(KeepRow(**_fields(raw)) for raw in data.get("input-saved", ()))
    views = tuple(KeepRow(**_fields(raw)) for raw in data.get("view", ()))
    modules = tuple(ModuleRow(**_fields(raw)) for raw in data.get("module", ()))
    probabilities = tuple(ProbabilityRow(**_fields(raw)) for raw in data.get("probability", ()))
    logits = tuple(LogitRow(**_fields(raw)) for raw in data.get("logit", ()))
    by_name: dict[str, tuple[ArgumentRow, ...]] = {}
    for argument in arguments:
        for full in full_names(argument.names):
            by_name[full] = (*by_name.get(full, ()), argument)
    return Table(
        ops,
        arguments,
        libraries,
        keepers,
        unsaved,
        output_saved,
        input_saved,
        views,
        modules,
        probabilities,
        logits,
        {n: row for row in ops for n in full_names(row.names)},
        by_name,
        frozenset(n for row in keepers for n in full_names(row.names)),
        frozenset(n for row in unsaved for n in full_names(row.names)),
        frozenset(n for row in output_saved for n in full_names(row.names)),
        frozenset(n for row in input_saved for n in full_names(row.names)),
        frozenset(n for row in views for n in full_names(row.names)),
        _functions_of_layers(keepers, modules),
        {n: row for row in modules for n in row.names},
        {n: row for row in probabilities for n in full_names(row.names)},
        {n: row for row in logits for n in row.names},
    )


def _functions_of_layers(keepers: tuple[KeepRow, ...], modules: tuple[ModuleRow, ...]) -> dict[str, str]:
    """``torch.nn.LeakyReLU`` -> ``torch.nn.functional.leaky_relu``: the layers that only call a function."""
    prefix = "torch.nn.functional."
    functions = {n[len(prefix) :].replace("_", ""): n for row in keepers for n in row.names if n.startswith(prefix)}
    names = [n for row in modules if not row.parameters for n in row.names]
    return {n: functions[last] for n in names if (last := n.rpartition(".")[2].lower()) in functions}


def full_names(names: tuple[str, ...]) -> Iterator[str]:
    """Spell out a row's names: a bare one stands for the function in torch and the method of Tensor."""
    for name in names:
        yield from (name,) if "." in name else (f"torch.{name}", f"torch.Tensor.{name}")


@cache
def _full(row: OpRow) -> frozenset[str]:
    return frozenset(full_names(row.names))


@lru_cache(maxsize=4096)
def _spelt(name: str) -> tuple[str, ...]:
    return tuple(_spellings(name))


def _spellings(name: str) -> Iterator[str]:
    for printed, filed in _PREFIXES:
        if name.startswith(printed):
            name = filed + name[len(printed) :]
    if name.startswith("aten."):  # an operator of torch.ops, perhaps with its overload: aten.sort.stable
        name = "torch." + name.split(".")[1]
    if "." not in name:
        yield from (f"torch.Tensor.{name}", f"torch.{name}", f"torch.nn.functional.{name}")
        yield f"torch.Tensor.{name}.__get__"
    yield name
    yield f"{name}.__get__"  # an attribute as it stands in source: torch.Tensor.data


def _fields(raw: Mapping[str, Any]) -> dict[str, Any]:
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in raw.items()}
    return {"examples" if key == "try" else key: value for key, value in values.items()}
