"""``requires_grad`` as the program sets it: on tensors, on modules, and spelt wrongly."""

from __future__ import annotations

import ast
import difflib
from typing import TYPE_CHECKING

from gradwhy.static.flow.histories import MAYBE, NO, YES, Flow, Value
from gradwhy.static.flow.values import Const, Instance, Tensor

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
        set_zero(r, tensor, isinstance(value, Tensor) and value.f.get("#zero") is True, node)
    elif is_misspelt(name):
        r.tell("misspelt", node, tensors=(tensor,), subject=name, value=value)
    else:
        r.write(tensor.f, name, value)


def set_zero(r: Run, tensor: Tensor, zero: bool, node: ast.AST) -> None:
    """All values of a tensor, and of the one whose memory it shares, are zero from here on, or something else."""
    for one in (tensor, tensor.f.get("#memory")):
        if isinstance(one, Tensor) and (zero or one.f.get("#zero")):
            r.write(one.f, "#zero", zero)
            r.write(one.f, "#zero at", (node, r.frame))


def is_nought(args: list[Value], keywords: dict[str, Value]) -> bool:
    """Whether the number that a tensor is filled with is 0."""
    value = args[0] if args else keywords.get("val", keywords.get("value"))
    return isinstance(value, Const) and isinstance(value.value, (int, float)) and value.value == 0


def set_on_module(r: Run, module: Value, name: str, value: Value, node: ast.AST) -> None:
    """A module takes any attribute: ``requires_grad`` on it means nothing to torch."""
    own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    if (name == FLAG or is_misspelt(name)) and not own and not _declares(module, name):
        r.tell("misspelt", node, subject=name, value=module, facts={"set": value})


def _declares(module: Value, name: str) -> bool:
    return isinstance(module, Instance) and (name in module.f or module.cls.find(name) is not None)


def decided(r: Run, node: ast.AST) -> tuple[ast.AST, Frame]:
    """Where it was chosen to set the flag, and to what: the line itself, or the call of a helper that sets it on whatever
    it is given, or to whatever it is told."""
    place, frame = node, r.frame
    value = _value(r, node)
    while isinstance(frame.call, ast.Call) and frame.parent is not None:
        own = _arguments(frame.node)
        told = isinstance(value, ast.Name) and value.id in own
        if not told and not _sets_what_it_is_given(frame.node, place, own):
            break
        value = _passed(frame.call, frame.node, value.id) if told and isinstance(value, ast.Name) else None
        place, frame = frame.call, frame.parent
    return place, frame


def _value(r: Run, node: ast.AST) -> ast.expr | None:
    if isinstance(node, ast.Call):
        return next(iter([*node.args, *(keyword.value for keyword in node.keywords)]), None)
    return r.current.value if isinstance(r.current, ast.Assign) else None


def _passed(call: ast.Call, function: ast.AST | None, name: str) -> ast.expr | None:
    """What a call gives for an argument of a function."""
    spec = getattr(function, "args", None)
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if isinstance(spec, ast.arguments):
        names = [arg.arg for arg in (*spec.posonlyargs, *spec.args) if arg.arg not in ("self", "cls")]
        if name in names and names.index(name) < len(call.args):
            return call.args[names.index(name)]
    return None


def _arguments(function: ast.AST | None) -> set[str]:
    spec = getattr(function, "args", None)
    if not isinstance(spec, ast.arguments):
        return set()
    every = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *([spec.vararg] if spec.vararg else [])]
    return {arg.arg for arg in every} - {"self", "cls"}


def _sets_what_it_is_given(function: ast.AST | None, place: ast.AST, own: set[str]) -> bool:
    """``def freeze(m): for p in m.parameters(): p.requires_grad = False``, and nothing else besides ``eval()``."""
    if not isinstance(function, ast.FunctionDef):
        return False
    body = [s for s in function.body if not isinstance(s, (ast.Return, ast.Pass)) and not _is_quiet(s)]
    if len(body) != 1:
        return False
    loop = body[0]
    while isinstance(loop, (ast.For, ast.If)):
        if isinstance(loop, ast.For) and {n.id for n in ast.walk(loop.iter) if isinstance(n, ast.Name)} & own:
            return True
        inner = [s for s in loop.body if not _is_quiet(s)]
        if len(inner) != 1:
            return False
        loop = inner[0]
    return (
        isinstance(loop, ast.Expr)
        and isinstance(place, ast.Call)
        and bool({n.id for n in ast.walk(place.func) if isinstance(n, ast.Name)} & own)
    )


def _is_quiet(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(value, ast.Constant):
        return True
    return (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in ("eval", "train")
    )


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
