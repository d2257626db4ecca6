"""Makes the gradient that is passed in in the shape of its output."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import called, dotted_name
from gradwhy.static import lines
from gradwhy.static.remedy import Fault, Spot, replace

_NUMBER = (ast.Constant, ast.UnaryOp)


def remedies(fault: Fault) -> Iterable[Fix]:
    """One element for a loss of no dimension: ``torch.tensor(1.0)``. Ones of another size: ``torch.ones_like(output)``."""
    got, want = fault.args.get("got"), fault.args.get("want")
    if want == "[]" and got == "[1]":
        yield from _one_number(fault)
    else:
        yield from _like_output(fault)


def _one_number(fault: Fault) -> Iterable[Fix]:
    found = [(call, text) for call in lines.calls(fault.node) if (text := _without_dimension(fault, call))]
    if len(found) == 1:
        call, text = found[0]
        title = Message("grad-argument-shape.fix", {"result": Code(text)})
        yield Fix(title=title, applicability="unsafe", edits=(replace(fault, call, text),))


def _without_dimension(fault: Fault, call: ast.Call) -> str:
    """The call for the same number with no dimension: ``torch.ones(1)`` as ``torch.tensor(1.0)``."""
    if not isinstance(call.func, ast.Attribute) or dotted_name(call.func.value) != "torch" or not call.args:
        return ""
    rest = "".join(f", {fault.source.segment(part)}" for part in (*call.args[1:], *call.keywords))
    first = call.args[0]
    one = isinstance(first, (ast.Tuple, ast.List)) and len(first.elts) == 1
    inner = first.elts[0] if one and isinstance(first, (ast.Tuple, ast.List)) else first
    if call.func.attr == "ones" and isinstance(inner, ast.Constant) and inner.value == 1 and len(call.args) == 1:
        return f"torch.tensor(1.0{rest})"
    if call.func.attr == "full" and isinstance(inner, ast.Constant) and inner.value == 1 and len(call.args) == 2:
        return f"torch.tensor({fault.source.segment(call.args[1])}{_keywords(fault, call)})"
    if call.func.attr in ("tensor", "FloatTensor", "Tensor") and one and isinstance(inner, _NUMBER):
        text = fault.source.segment(inner)
        decimal = text if call.func.attr == "tensor" or "." in text or "e" in text else f"{text}.0"
        return f"torch.tensor({decimal}{rest})"
    return ""


def _keywords(fault: Fault, call: ast.Call) -> str:
    return "".join(f", {fault.source.segment(keyword)}" for keyword in call.keywords)


def _like_output(fault: Fault) -> Iterable[Fix]:
    used = fault.spot("used")
    if used is None:
        return
    for call in lines.calls(used.node, "grad", "backward"):
        given = next((k.value for k in call.keywords if k.arg in ("grad_outputs", "gradient", "grad_tensors")), None)
        on_tensor = call.func.attr == "backward" if isinstance(call.func, ast.Attribute) else False
        if given is None:
            place = 0 if on_tensor and "autograd" not in dotted_name(call.func) else 2 if called(call) == "grad" else 1
            given = call.args[place] if place < len(call.args) else None
        in_torch = "autograd" in dotted_name(call.func) or called(call) == "grad"
        output = call.args[0] if in_torch and call.args else getattr(call.func, "value", None)
        if given is None or not isinstance(output, (ast.Name, ast.Attribute)) or not _are_ones(used, given):
            return
        text = f"torch.ones_like({used.source.segment(output)})"
        title = Message("grad-argument-shape.fix", {"result": Code(text)})
        yield Fix(title=title, applicability="unsafe", edits=(replace(used, given, text),))
        return


def _are_ones(used: Spot, given: ast.expr) -> bool:
    """Whether what is passed is made by ``torch.ones`` wherever it is assigned in the file."""
    if called(given) in ("ones", "ones_like"):
        return True
    name = dotted_name(given)
    if not name or used.source.tree is None:
        return False
    scope = used.source.function(given) if "." not in name else used.source.tree
    values = [
        n.value
        for n in ast.walk(scope or used.source.tree)
        if isinstance(n, ast.Assign) and any(dotted_name(target) == name for target in n.targets)
    ]
    return bool(values) and all(_ones(value) for value in values)


def _ones(value: ast.expr) -> bool:
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in ("to", "cuda"):
        value = value.func.value
    return called(value) in ("ones", "ones_like")
