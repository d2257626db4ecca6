"""``GradScaler`` and the schedulers of a learning rate: objects of torch that are called around an optimizer's step."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gradwhy.static.flow import optimizers
from gradwhy.static.flow.histories import Value
from gradwhy.static.flow.ops import computed
from gradwhy.static.flow.values import Const, Optimizer, Tensor, Unknown, flows, plain

if TYPE_CHECKING:
    from gradwhy.static.flow.run import Run

SCALED = "scale"
"""The name of the history that ``scaler.scale(loss)`` gives."""


def scaler(r: Run, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    """``GradScaler(...)``; one with ``enabled=False`` hands everything through."""
    made = Unknown(node)
    enabled = keywords.get("enabled")
    made.f["#scaler"] = not (isinstance(enabled, Const) and not enabled.value)
    return made


def scheduler(path: str, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    """``torch.optim.lr_scheduler.X(optimizer, ...)``."""
    made = Unknown(node)
    given = plain(args[0] if args else keywords.get("optimizer", Unknown()))
    if path.startswith("torch.optim.lr_scheduler.") and isinstance(given, Optimizer):
        made.f["#scheduler"] = (path, given)
    return made


def call(r: Run, owner: Unknown, name: str, args: list[Value], node: ast.AST) -> Value | None:
    """A method of such an object; None where it is none."""
    if "#scheduler" in owner.f and name == "step":
        path, optimizer = owner.f["#scheduler"]
        r.tell("scheduled", node, optimizer=optimizer, value=owner, subject=path)
        return Unknown(node)
    if "#scaler" not in owner.f:
        return None
    given = plain(args[0]) if args else Unknown()
    optimizer = given if isinstance(given, Optimizer) else None
    if name in ("scale", "unscale_", "step", "update"):
        r.tell("scaler", node, subject=name, optimizer=optimizer, value=owner)
    if name == "scale":
        if isinstance(given, Tensor):
            return computed(r, node, list(flows(given)), name=SCALED)
        made = Unknown(node)
        made.f["#scaled"] = True
        return made
    if name == "step" and optimizer is not None:
        optimizers.call(r, optimizer, "step", [], {}, node)
    return Unknown(node)
