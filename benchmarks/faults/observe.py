"""Whether a silent fault still shows: runs a program and evaluates its case's ``check``.

usage: python observe.py PROGRAM EXPRESSION      exit code 0 where the expression is false, 1 where it is true

The expression sees the program's globals, ``torch``, ``nn``, and

    changed(tensor)         did it change since just before the first backward?
    grad_seen(tensor)       the largest entry of its gradient at any backward or step; None if it never had one
    carried_over(optimizer) did its last step use the gradient tensors of the step before?
    grads_after(f, module)  the gradients of a module after ``module.zero_grad()`` and ``f()``
"""

from __future__ import annotations

import contextlib
import io
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

DEPTH = 6
LONGEST = 200


def held(value: Any, seen: set[int], depth: int = 0) -> Iterator[torch.Tensor]:
    """Every tensor that can be reached from a value: in containers, modules, optimizers and plain objects."""
    if id(value) in seen or depth > DEPTH:
        return
    seen.add(id(value))
    if isinstance(value, torch.Tensor):
        yield value
        return
    inner: list[Any] = []
    if isinstance(value, nn.Module):
        parts = (value._parameters, value._buffers, value._modules, vars(value))
        inner = [item for part in parts for item in list(part.values())]
    elif isinstance(value, dict):
        inner = list(value.values())
    elif isinstance(value, (list, tuple)):
        inner = list(value[:LONGEST])
    elif isinstance(value, torch.optim.Optimizer):
        inner = [parameter for group in value.param_groups for parameter in group["params"]]
    elif hasattr(value, "__dict__") and not isinstance(
        value, (type, types.ModuleType, types.FunctionType, types.MethodType)
    ):
        inner = list(vars(value).values())
    for item in inner:
        yield from held(item, seen, depth + 1)


class Watch:
    """What the expressions ask for. Tensors are held, so that no id is used twice."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        self.first: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self.largest: dict[int, tuple[torch.Tensor, float]] = {}
        self.last: dict[int, list[Any]] = {}
        self.carried: dict[int, bool] = {}

    def tensors(self) -> list[torch.Tensor]:
        seen: set[int] = set()
        values = [value for name, value in list(self.names.items()) if not name.startswith("__")]
        return [tensor for value in values for tensor in held(value, seen)]

    def start(self) -> None:
        if not self.first:
            self.first = {id(tensor): (tensor, tensor.detach().clone()) for tensor in self.tensors()}

    def look(self) -> None:
        for tensor in self.tensors():
            gradient = tensor.grad if tensor.is_leaf or tensor.retains_grad else None
            if gradient is not None:
                before = self.largest.get(id(tensor), (tensor, 0.0))[1]
                self.largest[id(tensor)] = (tensor, max(before, gradient.detach().abs().max().item()))

    def before_step(self, optimizer: Any, *_: Any) -> None:
        self.look()
        now = [parameter.grad for group in optimizer.param_groups for parameter in group["params"]]
        old = self.last.get(id(optimizer), [])
        self.carried[id(optimizer)] = any(a is not None and a is b for a, b in zip(old, now))
        self.last[id(optimizer)] = now

    def changed(self, tensor: torch.Tensor) -> bool:
        return not torch.equal(self.first[id(tensor)][1], tensor.detach())

    def grad_seen(self, tensor: torch.Tensor) -> float | None:
        return self.largest.get(id(tensor), (tensor, None))[1]

    def carried_over(self, optimizer: Any) -> bool:
        return self.carried.get(id(optimizer), False)


def grads_after(act: Callable[[], object], module: nn.Module) -> list[torch.Tensor | None]:
    module.zero_grad()
    act()
    return [None if each.grad is None else each.grad.clone() for each in module.parameters()]


def shows(program: Path, expression: str) -> bool:
    names: dict[str, Any] = {"__name__": "__main__", "__file__": str(program)}
    watch = Watch(names)
    backward = torch.autograd.backward

    def watched(*arguments: Any, **keywords: Any) -> Any:
        watch.start()
        result = backward(*arguments, **keywords)
        watch.look()
        return result

    hook = register_optimizer_step_pre_hook(watch.before_step)
    torch.autograd.backward = watched  # type: ignore[assignment]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(program.read_text("utf-8"), str(program), "exec"), names)
    finally:
        torch.autograd.backward = backward
        hook.remove()
    helpers = {name: getattr(watch, name) for name in ("changed", "grad_seen", "carried_over")}
    return bool(eval(expression, {**names, **helpers, "grads_after": grads_after, "torch": torch, "nn": nn}))


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.exit(1 if shows(Path(sys.argv[1]), sys.argv[2]) else 0)
