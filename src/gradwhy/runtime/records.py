"""What is remembered of an operation whose result has no gradient path, and of the tensors that went into it."""

from __future__ import annotations

import weakref
from types import CodeType
from typing import Any, TypeAlias

import torch

from gradwhy.runtime.journal import GradScope
from gradwhy.runtime.sites import Site

Shape: TypeAlias = "tuple[int, ...]"
Slot: TypeAlias = "int | str"
"""Which argument: its position, or its keyword."""


def node_of(tensor: Any) -> Any:
    """The ``grad_fn`` of a tensor, None where it has none or where torch refuses to make one.

    Reading it of a view whose base was changed in place may raise (torch/csrc/autograd/variable.cpp, ``grad_fn``).
    """
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


def shape_of(tensor: Any) -> Shape:
    """The shape; () for a lazy parameter that has none yet (torch/nn/parameter.py, ``UninitializedTensorMixin``)."""
    return () if torch.nn.parameter.is_lazy(tensor) else tuple(tensor.shape)


class Input:
    """A tracked tensor that went into a cut: a weak reference, what it looked like, and what lies behind it."""

    __slots__ = ("dtype", "leaves", "node", "reference", "sequence", "shape", "slot")

    def __init__(self, slot: Slot, tensor: Any) -> None:
        self.slot = slot
        # Parameters are known by id: a weak reference would get in the way of torch.utils.swap_tensors.
        self.reference = None if isinstance(tensor, torch.nn.Parameter) else weakref.ref(tensor)
        self.shape: Shape = shape_of(tensor)
        self.dtype = str(tensor.dtype)
        node = node_of(tensor)
        self.node = node.name() if node is not None else ""
        self.sequence = node._sequence_nr() if node is not None else -1
        # A view that was made with gradients off has no node and is no leaf: what it views has them.
        self.leaves: tuple[int, ...] = (id(tensor),) if node is None and tensor._base is None else ()


class Record:
    """One operation whose result has no gradient path; ``parents`` are the untracked operations before it."""

    __slots__ = (
        "chain",
        "code",
        "depth",
        "dtype",
        "flagged",
        "frozen",
        "func",
        "grad_off",
        "inputs",
        "lasti",
        "library",
        "order",
        "output",
        "parents",
        "scope",
        "severed",
        "shape",
        "stack",
        "value",
    )

    def __init__(self, func: Any, order: int, site: Site | None) -> None:
        self.func = func
        self.order = order
        self.code: CodeType | None = site.code if site else None
        self.lasti = site.lasti if site else -1
        self.parents: tuple[tuple[Slot, Record], ...] = ()
        self.inputs: tuple[Input, ...] = ()
        self.frozen: tuple[int, ...] = ()
        self.depth = 0
        self.output: int | None = None
        self.grad_off = False
        self.severed = False
        self.scope: GradScope | None = None
        self.shape: Shape = ()
        self.dtype = ""
        self.chain: tuple[Site, ...] = ()
        self.library: tuple[Site, ...] = ()
        self.stack: tuple[Site, ...] = ()
        self.value: Any = None
        self.flagged: Site | None = None
        """Where ``requires_grad`` was set on the result, after it had been made."""

    @property
    def site(self) -> Site | None:
        return Site(self.code, self.lasti) if self.code is not None else None

    @property
    def is_cut(self) -> bool:
        return bool(self.inputs) or self.severed


def memory_of(value: Any) -> tuple[int, int] | None:
    """(address, size in bytes) of an array, without importing numpy."""
    interface = getattr(value, "__array_interface__", None)
    if not isinstance(interface, dict) or isinstance(value, torch.Tensor):
        return None
    address = interface["data"][0]
    return address, max(int(getattr(value, "nbytes", 1)), 1)


def numbers_in(value: Any, limit: int = 4_096) -> list[float]:
    """The floats in a number or nested lists of them."""
    found: list[float] = []
    stack = [value]
    while stack and len(found) < limit:
        item = stack.pop()
        if isinstance(item, float):
            found.append(item)
        elif isinstance(item, (list, tuple)):
            stack.extend(reversed(item))
    return found


def drop_oldest(kept: dict[Any, Any], limit: int) -> None:
    """Halve a dictionary that has outgrown its limit: graph nodes that old are gone, values that old are not awaited."""
    if len(kept) > limit:
        for key in list(kept)[: len(kept) - limit // 2]:
            del kept[key]


def sequences_of(roots: Any) -> tuple[int, ...]:
    """torch's numbers of the nodes that tensors came from."""
    nodes = [node_of(root) for root in roots if isinstance(root, torch.Tensor)]
    return tuple(node._sequence_nr() for node in nodes if node is not None)


def keeps_graph(args: Any, kwargs: Any, place: int) -> bool:
    """``retain_graph`` or ``create_graph``: ``place`` is the position of the first (torch/autograd/__init__.py)."""
    given = dict(zip(("retain_graph", "create_graph"), args[place : place + 2])) | kwargs
    return bool(given.get("create_graph") if given.get("retain_graph") is None else given["retain_graph"])
