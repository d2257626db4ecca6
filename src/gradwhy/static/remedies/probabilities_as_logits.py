"""Gives the loss what was there before the softmax or the sigmoid."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import bound_names, definitions, dotted_name, names_read
from gradwhy.static.remedy import Fault, replace

_MODULES = ("torch", "F", "functional", "nn.functional", "torch.nn.functional", "torch.special")


def remedies(fault: Fault) -> Iterable[Fix]:
    """Only where the loss stands beside it, in the same call or function: what else reads the probabilities keeps them."""
    call, loss = fault.node, fault.loss_call
    if loss is None or not isinstance(call, ast.Call) or fault.loss_slot >= len(loss.args):
        return
    argument, logits = loss.args[fault.loss_slot], _logits(call)
    if logits is None or fault.source.function(call) is not fault.source.function(loss):
        return
    if argument is call or _is_name_of(fault, argument, call, logits):
        text = fault.source.segment(logits)
        title = Message(f"{fault.cause}.fix", {"input": Code(text), "loss": Code(fault.source.segment(loss.func))})
        yield Fix(title=title, applicability="unsafe", edits=(replace(fault, argument, text),))


def _logits(call: ast.Call) -> ast.expr | None:
    """What the probabilities are computed from: the argument of a function or a layer, the owner of a method."""
    if any(isinstance(arg, ast.Starred) for arg in call.args):
        return None
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr in ("softmax", "sigmoid"):
        owner = dotted_name(function.value)
        if owner not in _MODULES and not owner.startswith("self"):
            return function.value if not isinstance(function.value, ast.BinOp) else None
    return call.args[0] if call.args else None


def _is_name_of(fault: Fault, argument: ast.expr, call: ast.Call, logits: ast.expr) -> bool:
    """Whether the loss is given a name that is bound to the call alone, and what was there before is still the same."""
    scope = fault.source.function(call) or fault.source.tree
    if not isinstance(argument, ast.Name) or scope is None:
        return False
    bound = [(value, node) for names, value, node in definitions(scope) if argument.id in names]
    if len(bound) != 1 or bound[0][0] is not call or not isinstance(bound[0][1], ast.Assign):
        return False
    if set(bound_names(bound[0][1].targets[0])) != {argument.id} or not isinstance(logits, ast.Name):
        return False
    between = range(call.lineno + 1, argument.lineno + 1)
    return not any(
        names & names_read(logits) and getattr(node, "lineno", 0) in between for names, _, node in definitions(scope)
    )
