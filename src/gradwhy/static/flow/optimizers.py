"""Optimizers: what they were given, and what their steps and resets touch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradwhy.static.flow import layers
from gradwhy.static.flow.frames import Stepped
from gradwhy.static.flow.histories import Value, now
from gradwhy.static.flow.values import (
    NONE,
    Const,
    Mapping,
    Optimizer,
    Parameters,
    Seq,
    Tensor,
    Unknown,
    is_module,
    plain,
)

if TYPE_CHECKING:
    from gradwhy.static.flow.run import Run


def make(r: Run, path: str, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    """``torch.optim.X(params, ...)``."""
    given = plain(args[0] if args else keywords.get("params", Unknown()))
    found: dict[int, Tensor] = {}
    complete = True
    for tensor in _tensors(given):
        if tensor is None:
            complete = False
        else:
            found[id(tensor)] = tensor
    optimizer = Optimizer(path, node, r.frame, tuple(found.values()), complete)
    optimizer.f["of"] = tuple(_owners(given))
    r.tell("optimizer", node, optimizer=optimizer, value=given, tensors=tuple(found.values()),
           facts={"flows": tuple(tensor.flow for tensor in found.values())})  # fmt: skip
    return optimizer


def _tensors(value: Value, depth: int = 5) -> Iterator[Tensor | None]:
    """The tensors in what an optimizer is given; None for what isn't known."""
    value = plain(value)
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping) and depth:
        if "params" in value.items:
            yield from _tensors(value.items["params"], depth - 1)
        else:
            for part in value.items.values():
                if isinstance(plain(part), (Tensor, Seq)):
                    yield from _tensors(part, depth - 1)
            if value.rest is not None:
                yield None
    elif isinstance(value, Seq) and depth:
        for part in value.items:
            if isinstance(value, Parameters) and isinstance(part, Seq):
                yield from _tensors(part.items[1], depth - 1)
            elif not isinstance(part, Const):
                yield from _tensors(part, depth - 1)
        if value.rest is not None:
            yield from _tensors(value.rest, depth - 1)
            if isinstance(plain(value.rest), Tensor):
                yield None
    else:
        yield None


def tensors_in(value: Value) -> list[Tensor | None]:
    """The tensors of a list of parameters, None for each that isn't known."""
    return list(_tensors(value))


def _owners(value: Value, depth: int = 4) -> Iterator[Value]:
    value = plain(value)
    if isinstance(value, Parameters):
        yield value.owner
    elif isinstance(value, (Seq, Mapping)) and depth:
        for part in value.items.values() if isinstance(value, Mapping) else value.items:
            yield from _owners(part, depth - 1)


def call(r: Run, owner: Optimizer, name: str, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    """``optimizer.name(...)``."""
    if name == "step":
        closure = plain(args[0] if args else keywords.get("closure", NONE))
        if not isinstance(closure, Const):
            # L-BFGS evaluates its closure several times in one step.
            for _ in range(2 if owner.path.endswith("LBFGS") else 1):
                result = r.call(closure, [], {}, node)
            r.tell("step", node, optimizer=owner, tensors=owner.f["params"])
            return result
        r.tell("step", node, optimizer=owner, tensors=owner.f["params"])
        for tensor in owner.f["params"]:
            r.write(tensor.f, "#stepped", Stepped(now(), node, r.frame))
        return NONE
    if name == "zero_grad":
        r.tell("zero_grad", node, optimizer=owner, tensors=owner.f["params"])
        return NONE
    if name == "add_param_group" and args:
        more = [tensor for tensor in _tensors(args[0]) if tensor is not None]
        r.write(owner.f, "params", tuple({id(t): t for t in (*owner.f["params"], *more)}.values()))
        r.write(owner.f, "of", (*owner.f["of"], *_owners(args[0])))
        r.tell("optimizer", node, optimizer=owner, tensors=tuple(more), facts={"flows": tuple(t.flow for t in more)})
        return NONE
    return Unknown(node)


def holds_module(optimizer: Optimizer, module: Value) -> bool:
    """Whether a parameter of the module is in the optimizer."""
    held = {id(tensor) for tensor in optimizer.f["params"]}
    if not is_module(module):
        return False
    return any(tensor is not None and id(tensor) in held for _, tensor in layers.named_parameters(module))
