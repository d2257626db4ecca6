"""Data loaders: what their batches are made of."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gradwhy.static.flow.histories import NO, Flow, Value
from gradwhy.static.flow.values import Array, Const, Data, Instance, Mapping, Scalar, Seq, Tensor, plain

if TYPE_CHECKING:
    from gradwhy.static.flow.run import Run


class Loader(Value):
    """``DataLoader(dataset)``."""

    __slots__ = ("dataset", "node")

    def __init__(self, dataset: Value, node: ast.AST) -> None:
        self.dataset = dataset
        self.node = node


def batches(r: Run, loader: Loader) -> Seq:
    """What a pass over a loader gives: a sequence of collated batches, made anew."""
    dataset, node = plain(loader.dataset), loader.node
    if isinstance(dataset, Seq):
        one = dataset.rest if dataset.rest is not None else dataset.items[0] if dataset.items else None
        parts = [collated(one, node) if one is not None else Data() for _ in range(2)]
        return Seq((parts[0],), parts[1], "loader")
    if isinstance(dataset, Tensor):
        return Seq((), Tensor(Flow("plain", NO, node), made=node), "loader")
    if isinstance(dataset, Instance):
        found = dataset.cls.find("__getitem__") or dataset.cls.find("__iter__")
        if found is not None:
            args = [dataset, Scalar()] if dataset.cls.find("__getitem__") is not None else [dataset]
            made = [collated(plain(r.call(found[0], list(args), {}, node)), node) for _ in range(2)]
            return Seq((made[0],), made[1], "loader")
    return Seq((), Data(), "loader")


def collated(value: Value, node: ast.AST) -> Value:
    """A batch of values: numbers and arrays become tensors."""
    value = plain(value)
    if isinstance(value, Tensor):
        return value if value.flow.grad else Tensor(Flow("plain", NO, node), made=node)
    if isinstance(value, (Scalar, Array)) or (isinstance(value, Const) and isinstance(value.value, (int, float))):
        return Tensor(Flow("plain", NO, node), made=node)
    if isinstance(value, Seq):
        rest = collated(value.rest, node) if value.rest is not None else None
        return Seq([collated(item, node) for item in value.items], rest, "list")
    if isinstance(value, Mapping):
        return Mapping({k: collated(v, node) for k, v in value.items.items()}, None)
    return Data()
