"""Keeps what a pass needs out of inference mode: as constants made under no_grad, or with gradients."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Edit, Fix, Message
from gradwhy.source.slicing import dotted_name
from gradwhy.static import gradients_on
from gradwhy.static.leaf_writes import torch_name
from gradwhy.static.remedy import Fault, replace

_MODE = "inference_mode"


def remedies(fault: Fault) -> Iterable[Fix]:
    """Where autograd only could not save the values, they were meant as constants, and ``no_grad`` makes such. Where a loss lost
    its path, what it needs goes out of the block or decorator."""
    if fault.symptom != "inference-tensor":
        yield from gradients_on.remedies(fault)
        return
    edit = _as_no_grad(fault)
    if edit is not None:
        title = Message("inference_mode-context.fix-no_grad", {"result": Code(edit.new_text)})
        yield Fix(title=title, applicability="safe", edits=(edit,))


def _as_no_grad(fault: Fault) -> Edit | None:
    """``torch.inference_mode()`` -> ``torch.no_grad()``, as a block or a decorator."""
    torch = torch_name(fault.source)
    node = fault.node
    places = [item.context_expr for item in node.items] if isinstance(node, (ast.With, ast.AsyncWith)) else [node]
    found = [place for place in places if dotted_name(_called(place)).rpartition(".")[2] == _MODE]
    if len(found) != 1 or not torch:
        return None
    call = found[0]
    if not isinstance(call, ast.Call):
        return replace(fault, call, f"{torch}.no_grad()") if fault.is_decorator else None
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if any(not (isinstance(value, ast.Constant) and value.value is True) for value in given):
        return None
    return replace(fault, call, f"{torch}.no_grad()")


def _called(node: ast.AST) -> ast.AST:
    return node.func if isinstance(node, ast.Call) else node
