"""``requires_grad`` as the program sets it: on tensors, on modules, and spelt wrongly."""

from __future__ import annotations

import ast
import difflib
from typing import TYPE_CHECKING

from gradwhy.static.flow.values import MAYBE, NO, YES, Const, Flow, Instance, Tensor, Value

if TYPE_CHECKING:
    from gradwhy.static.flow.frames import Frame
    from gradwhy.static.flow.run import Run

FLAG = "requires_grad"
_CLOSE = 0.8


def is_misspelt(name: str) -> bool:
    """Whether an attribute looks like ``requires_grad`` and isn't."""
    if name == FLAG or "grad" not in name:
        return False
    return name == "requires_grad_" or bool(difflib.get_close_matches(name, [FLAG], cutoff=_CLOSE))


def set_on_tensor(r: Run, tensor: Tensor, name: str, value: Value, node: ast.AST) -> None:
    if name == FLAG:
        set_flag(r, tensor, value, node)
    elif name == "grad":
        r.tell("grad-set", node, tensors=(tensor,), value=value)
    elif name == "data":
        r.tell("data-set", node, tensors=(tensor,), value=value)
    elif is_misspelt(name):
        r.tell("misspelt", node, tensors=(tensor,), subject=name, value=value)
    else:
        r.write(tensor.f, name, value)


def set_on_module(r: Run, module: Value, name: str, value: Value, node: ast.AST) -> None:
    """A module takes any attribute: ``requires_grad`` on it means nothing to torch."""
    own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    if (name == FLAG or is_misspelt(name)) and not own and not _declares(module, name):
        r.tell("misspelt", node, subject=name, value=module, facts={"set": value})


def _declares(module: Value, name: str) -> bool:
    return isinstance(module, Instance) and (name in module.f or module.cls.find(name) is not None)


def decided(r: Run, node: ast.AST) -> tuple[ast.AST, Frame]:
    """Where the flag's value was chosen: the line itself, or the call that passed it in."""
    frame = r.frame
    statement = r.current
    literal = isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
    if isinstance(node, ast.Call):
        literal = not node.args and not node.keywords or _has_flag(node)
    place = node
    while not literal and frame.parent is not None and isinstance(frame.call, ast.Call):
        place, frame = frame.call, frame.parent
        literal = _has_flag(frame_call := place) if isinstance(frame_call := place, ast.Call) else True
    return (place, frame) if literal else (node, r.frame)


def _has_flag(call: ast.Call) -> bool:
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any(isinstance(value, ast.Constant) and isinstance(value.value, bool) for value in given)


def set_flag(r: Run, tensor: Tensor, value: Value, node: ast.AST) -> None:
    """``tensor.requires_grad = value``."""
    flow = tensor.flow
    wanted = bool(value.value) if isinstance(value, Const) else None
    at, frame = decided(r, node)
    r.tell("flag", node, tensors=(tensor,), flow=flow, facts={"value": wanted, "decided": (at, frame)})
    if wanted is None:
        new = Flow("unknown", MAYBE, node, r.frame, owner=tensor)
    elif wanted:
        if flow.grad == YES:
            return
        if flow.grad == MAYBE and flow.owner is None:
            return
        history = (flow,) if flow.kind in ("op", "cut", "off", "join") else ()
        new = Flow("leaf", YES, node, r.frame, history, "requires-grad-on-loss" if history else "", owner=tensor)
    elif flow.kind == "leaf" or flow.owner is not None:
        new = Flow("frozen", NO, at, frame, owner=tensor, op=node)
    elif flow.grad == NO:
        return
    else:
        return
    r.write(tensor.f, "flow", new)
