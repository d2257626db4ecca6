"""Starts one of the two factors at random values."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import called, dotted_name
from gradwhy.static import lines
from gradwhy.static.remedy import Fault, replace

_ZEROING = frozenset({"zeros_", "zero_"})


def remedies(fault: Fault) -> Iterable[Fix]:
    """``torch.zeros(n, r)`` -> ``torch.randn(n, r) * 0.02``; a layer is made without the helper that sets it to zero."""
    zeros = [call for call in lines.calls(fault.node, "zeros") if dotted_name(call.func) == "torch.zeros"]
    if len(zeros) == 1:
        call = zeros[0]
        text = fault.source.segment(call).replace("torch.zeros", "torch.randn", 1)
        outer = fault.source.parents.get(call)
        inside = isinstance(outer, (ast.Call, ast.Assign)) and call is not getattr(outer, "func", None)
        result = f"{text} * 0.02" if inside else f"({text} * 0.02)"
        yield _fix(result, fault, call)
        return
    filling = [call for call in lines.calls(fault.node, "zeros_") if isinstance(call.func, ast.Attribute) and call.args]
    if len(filling) == 1 and len(filling[0].args) == 1 and not filling[0].keywords:
        owner = dotted_name(filling[0].func).rpartition(".")[0]
        yield _fix(f"{owner}.normal_({fault.source.segment(filling[0].args[0])}, std=0.02)", fault, filling[0])
        return
    call_of = fault.node
    if isinstance(call_of, ast.Call) and isinstance(call_of.func, ast.Name) and len(call_of.args) == 1:
        if not call_of.keywords and _zeroes(fault, call_of.func.id) and isinstance(call_of.args[0], ast.Call):
            yield _fix(fault.source.segment(call_of.args[0]), fault, call_of)


def _fix(result: str, fault: Fault, node: ast.AST) -> Fix:
    title = Message("zero-initialized.fix", {"result": Code(result)})
    return Fix(title=title, applicability="unsafe", edits=(replace(fault, node, result),))


def _zeroes(fault: Fault, name: str) -> bool:
    """Whether a function of this file does nothing but set what it is given to zero and give it back."""
    assert fault.source.tree is not None
    found = [n for n in ast.walk(fault.source.tree) if isinstance(n, ast.FunctionDef) and n.name == name]
    if len(found) != 1 or len(found[0].args.args) != 1:
        return False
    given, last = found[0].args.args[0].arg, found[0].body[-1]
    back = isinstance(last, ast.Return) and isinstance(last.value, ast.Name) and last.value.id == given
    named = {called(call) for call in lines.calls(ast.Module(found[0].body, []))}
    return back and bool(named & _ZEROING) and named <= _ZEROING | {"parameters"}
