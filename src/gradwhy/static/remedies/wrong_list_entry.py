"""Asks for the gradient of the whole tensor and takes the part from the result; or of all that is trained."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.static.leaves import called, end_of, inserted, without_argument
from gradwhy.static.remedy import Fault, replace


def remedies(fault: Fault) -> Iterable[Fix]:
    if fault.headline == "headline-inputs":
        yield from _without_inputs(fault)
    elif fault.headline == "headline":
        yield from _whole(fault)


def _whole(fault: Fault) -> Iterable[Fix]:
    """``grad(y, x[i])[0]`` -> ``grad(y, x)[0][i]``."""
    node, source = fault.node, fault.source
    call = source.parents.get(node)
    if isinstance(call, (ast.List, ast.Tuple)) and len(call.elts) == 1:
        call = source.parents.get(call)
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name) or called(call) != "grad":
        return
    taken = source.parents.get(call) if call is not None else None
    first = isinstance(taken, ast.Subscript) and isinstance(taken.slice, ast.Constant) and taken.slice.value == 0
    if not first or taken is None or not _is_used_whole(fault, node.value.id, node):
        return
    index = source.segment(node)[len(source.segment(node.value)) :]
    edits = (replace(fault, node, node.value.id), inserted(fault, end_of(source, taken), index))
    title = Message("wrong-list-entry.fix", {"name": Code(node.value.id)})
    yield Fix(title=title, applicability="unsafe", edits=edits)


def _is_used_whole(fault: Fault, name: str, node: ast.AST) -> bool:
    """Whether the function gives the whole tensor to something that it calls before."""
    scope = fault.source.function(node) or fault.source.tree
    line = getattr(node, "lineno", 0)
    return any(
        isinstance(n, ast.Call) and n.lineno < line and any(isinstance(a, ast.Name) and a.id == name for a in n.args)
        and called(n) not in ("len", "range", "print", "enumerate", "zip")
        for n in ast.walk(scope or ast.Module([], []))
    )  # fmt: skip


def _without_inputs(fault: Fault) -> Iterable[Fix]:
    """``loss.backward(inputs=...)`` -> ``loss.backward()``."""
    for call in ast.walk(fault.node):
        keyword = next((k for k in call.keywords if k.arg == "inputs"), None) if isinstance(call, ast.Call) else None
        if keyword is not None and isinstance(call, ast.Call):
            edit = without_argument(fault, call, keyword)
            title = Message("wrong-list-entry.fix-inputs", {"call": Code(fault.source.segment(call.func))})
            yield Fix(title=title, applicability="unsafe", edits=(edit,))
            return
