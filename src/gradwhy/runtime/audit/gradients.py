"""What the gradients of tensors are at this moment."""

from __future__ import annotations

from typing import Any

import torch

from gradwhy.findings import ParameterState


def parameters_of(optimizer: Any) -> list[Any]:
    """The tensors that an optimizer holds, each once."""
    found = {id(p): p for group in optimizer.param_groups for p in group["params"] if isinstance(p, torch.Tensor)}
    return list(found.values())


def states_of(parameters: list[Any]) -> list[tuple[ParameterState, float]]:
    """Of each tensor: whether its gradient is missing, zero throughout, finite or not, and its 2-norm."""
    found: list[tuple[ParameterState, float]] = []
    with torch._C.DisableTorchFunction():
        for parameter in parameters:
            gradient = parameter.grad if parameter.is_leaf or parameter.retains_grad else None
            if gradient is None:
                found.append(("none", 0.0))
                continue
            values = gradient._values() if gradient.is_sparse else gradient
            norm = float(values.detach().norm()) if values.numel() else 0.0
            if norm == 0.0:
                # Squares of small numbers vanish, the numbers need not.
                found.append(("finite", norm) if values.numel() and bool(values.any()) else ("zero", 0.0))
            else:
                finite = norm - norm == 0.0 or bool(torch.isfinite(values).all())
                found.append(("finite" if finite else "not-finite", norm))
    return found
