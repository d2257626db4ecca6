"""What a name can hold, as far as the source shows it: tensors with where they came from, modules, functions, constants."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from gradwhy.static.flow.histories import ALL, NO, UNKNOWN_FLOW, Fields, Flow, GradMode, Value

if TYPE_CHECKING:
    from gradwhy.source.modules import Named
    from gradwhy.static.flow.frames import Frame


class Unknown(Value):
    """Could be anything. What the program itself puts on it is kept."""

    __slots__ = ("f", "origin")

    def __init__(self, origin: ast.AST | None = None) -> None:
        self.f: Fields = {}
        self.origin = origin


class Const(Value):
    """A constant of Python whose value is known."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Data(Value):
    """What a data loader gives: tensors or anything around them, without a gradient path until somebody flags them."""

    __slots__ = ("f",)

    def __init__(self) -> None:
        self.f: Fields = {}

    @property
    def tensor(self) -> Tensor:
        """The tensor that it is, where it is used as one."""
        if "tensor" not in self.f:
            self.f["tensor"] = Tensor(Flow("plain", NO))
        found: Tensor = self.f["tensor"]
        return found


class Scalar(Value):
    """A number, text or truth value that is not known, and the tensors that it was taken from."""

    __slots__ = ("flow",)

    def __init__(self, flow: Flow | None = None) -> None:
        self.flow = flow


class Array(Value):
    """A numpy array."""

    __slots__ = ("f",)

    def __init__(self, flow: Flow) -> None:
        self.f: Fields = {"flow": flow}

    @property
    def flow(self) -> Flow:
        flow: Flow = self.f["flow"]
        return flow


class Tensor(Value):
    """A tensor: ``f["flow"]`` is its history; ``parameter`` says that it is an nn.Parameter."""

    __slots__ = ("f", "made", "name", "parameter")

    def __init__(self, flow: Flow, parameter: bool = False, name: str = "", made: ast.AST | None = None) -> None:
        self.f: Fields = {"flow": flow}
        self.parameter = parameter
        self.name = name
        self.made = made

    @property
    def flow(self) -> Flow:
        flow: Flow = self.f["flow"]
        return flow


class Seq(Value):
    """A list, tuple or set: ``items`` in order, then any number of ``rest`` where that is not None."""

    __slots__ = ("f", "fields", "kind")

    def __init__(
        self,
        items: tuple[Value, ...] | list[Value] = (),
        rest: Value | None = None,
        kind: str = "list",
        fields: tuple[str, ...] = (),
    ) -> None:
        self.f: Fields = {"items": tuple(items), "rest": rest}
        self.kind = kind
        self.fields = fields

    @property
    def items(self) -> tuple[Value, ...]:
        items: tuple[Value, ...] = self.f["items"]
        return items

    @property
    def rest(self) -> Value | None:
        rest: Value | None = self.f["rest"]
        return rest


class Parameters(Seq):
    """The parameters of ``owner``, as ``parameters()`` gives them."""

    __slots__ = ("owner",)

    def __init__(self, owner: Value, items: list[Value], rest: Value | None) -> None:
        super().__init__(items, rest)
        self.owner = owner


class Mapping(Value):
    """A dict: known keys, and ``rest`` for those that are not known."""

    __slots__ = ("f",)

    def __init__(self, items: dict[Any, Value] | None = None, rest: Value | None = None) -> None:
        self.f: Fields = {"items": items or {}, "rest": rest}

    @property
    def items(self) -> dict[Any, Value]:
        items: dict[Any, Value] = self.f["items"]
        return items

    @property
    def rest(self) -> Value | None:
        rest: Value | None = self.f["rest"]
        return rest


class Library(Value):
    """Something imported, by its dotted name: ``torch.nn.functional.relu``."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path


class Imported(Value):
    """A file of the project that was imported, or a folder of such; ``f`` holds its names."""

    __slots__ = ("f", "named")

    def __init__(self, named: Named) -> None:
        self.named = named
        self.f: Fields = {}


class Function(Value):
    """A function of this file. ``modes`` are the grad modes that decorators put around it."""

    __slots__ = ("cls", "defaults", "manager", "modes", "name", "node", "prop", "scopes", "static")

    def __init__(self, node: ast.AST, scopes: tuple[Fields, ...], name: str) -> None:
        self.node = node
        self.scopes = scopes
        self.name = name
        self.cls: Class | None = None
        self.defaults: dict[str, Value] = {}
        self.modes: tuple[GradMode, ...] = ()
        self.static = ""
        self.prop = False
        self.manager = False


class Bound(Value):
    """A method with its receiver."""

    __slots__ = ("function", "receiver")

    def __init__(self, function: Value, receiver: Value) -> None:
        self.function = function
        self.receiver = receiver


class Method(Value):
    """A method of something that is not defined in this file: a tensor's, a list's, a layer's."""

    __slots__ = ("name", "receiver")

    def __init__(self, receiver: Value, name: str) -> None:
        self.receiver = receiver
        self.name = name


class Partial(Value):
    """``functools.partial``."""

    __slots__ = ("args", "function", "keywords")

    def __init__(self, function: Value, args: list[Value], keywords: dict[str, Value]) -> None:
        self.function = function
        self.args = args
        self.keywords = keywords


class Class(Value):
    """A class of this file. ``base`` is the library class that it descends from, "" where there is none."""

    __slots__ = ("base", "bases", "f", "name", "node")

    def __init__(self, node: ast.ClassDef, name: str, bases: tuple[Class, ...], base: str, members: Fields) -> None:
        self.node = node
        self.name = name
        self.bases = bases
        self.base = base
        self.f = members

    def find(self, name: str) -> tuple[Value, Class] | None:
        """A member and the class that has it."""
        if name in self.f:
            return self.f[name], self
        return next((found for base in self.bases if (found := base.find(name)) is not None), None)


class Instance(Value):
    """An object of a class of this file; ``f`` holds its attributes."""

    __slots__ = ("cls", "f", "made")

    def __init__(self, cls: Class, made: ast.AST | None) -> None:
        self.cls = cls
        self.f: Fields = {}
        self.made = made

    @property
    def is_module(self) -> bool:
        return self.cls.base in MODULE_BASES


class Super(Value):
    """``super()`` in a method of ``cls``."""

    __slots__ = ("cls", "receiver")

    def __init__(self, cls: Class, receiver: Value) -> None:
        self.cls = cls
        self.receiver = receiver


class Layer(Value):
    """A module of torch.nn; parameters and submodules are attributes in ``f``."""

    __slots__ = ("f", "made", "path")

    def __init__(self, path: str, made: ast.AST | None) -> None:
        self.path = path
        self.f: Fields = {}
        self.made = made


class Optimizer(Value):
    """An optimizer: ``f["params"]`` are the tensors that it was given, ``f["complete"]`` whether all are known."""

    __slots__ = ("f", "frame", "made", "path")

    def __init__(self, path: str, made: ast.AST, frame: Frame, params: tuple[Tensor, ...], complete: bool) -> None:
        self.path = path
        self.made = made
        self.frame = frame
        self.f: Fields = {"params": params, "complete": complete}


class Distribution(Value):
    """A distribution of torch.distributions over what its arguments are."""

    __slots__ = ("flow", "path")

    def __init__(self, path: str, flow: Flow) -> None:
        self.path = path
        self.flow = flow


class Optional(Value):
    """A value, or None."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


MODULE_BASES: Final = frozenset({
    "torch.nn.Module", "torch.nn.modules.Module", "torch.nn.modules.module.Module",
    "pytorch_lightning.LightningModule", "lightning.LightningModule", "lightning.pytorch.LightningModule",
    "torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.Linear",
})  # fmt: skip
NONE: Final = Const(None)
TRUE: Final = Const(True)
FALSE: Final = Const(False)
NUMBER: Final = Scalar()


def plain(value: Value) -> Value:
    """The value itself where it may also be None."""
    while isinstance(value, Optional):
        value = value.value
    return value


def is_module(value: Value) -> bool:
    """Whether a value is an nn.Module."""
    return isinstance(value, Layer) or (isinstance(value, Instance) and value.is_module)


def flows(value: Value, depth: int = 4) -> Iterator[Flow]:
    """The histories of the tensors, arrays and numbers in a value."""
    value = plain(value)
    if isinstance(value, (Tensor, Array, Distribution)):
        yield value.flow
    elif isinstance(value, Scalar):
        if value.flow is not None:
            yield value.flow
    elif isinstance(value, (Seq, Mapping)):
        if depth:
            parts = value.items.values() if isinstance(value, Mapping) else value.items
            for part in parts:
                yield from flows(part, depth - 1)
            rest = value.rest
            if isinstance(rest, Tensor) and rest.flow.name == ALL:
                yield from rest.flow.inputs
            elif rest is not None:
                yield from flows(rest, depth - 1)
        else:
            yield UNKNOWN_FLOW
    elif isinstance(value, Data):
        yield value.tensor.flow
    elif not isinstance(value, (Const, Library, Imported, Function, Class)):
        yield UNKNOWN_FLOW
