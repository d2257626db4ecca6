"""Keeps tensors as tensors where they were turned into numbers or copied into a new tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Edit, Fix, Message
from gradwhy.source.slicing import definitions, dotted_name
from gradwhy.static.remedy import Fault, replace
from gradwhy.static.rewrites import without_method

_NOT_TENSORS = (ast.List, ast.Tuple, ast.Constant)
_MAKERS = frozenset({"tensor", "as_tensor", "Tensor", "FloatTensor", "DoubleTensor", "asarray", "new_tensor"})


def rebuilt(fault: Fault, call: ast.Call) -> Edit | None:
    """``torch.tensor([a, b])`` -> ``torch.stack([a, b])``, ``torch.tensor(x)`` -> ``x``."""
    if dotted_name(call.func).rpartition(".")[2] not in _MAKERS or not call.args:
        return None
    if fault.rebuild_takes == "nested":
        return None
    argument = call.args[0]
    if isinstance(argument, (ast.List, ast.Tuple)) and any(isinstance(e, _NOT_TENSORS) for e in argument.elts):
        return None
    if isinstance(argument, (ast.List, ast.ListComp, ast.Tuple, ast.GeneratorExp)) or fault.rebuild_takes == "list":
        return replace(fault, call, f"torch.stack({fault.source.segment(argument)})")
    if isinstance(argument, ast.Name) and _is_list(fault, argument):
        return None
    text = fault.source.segment(argument)
    return replace(fault, call, text if isinstance(argument, (ast.Name, ast.Attribute, ast.Call)) else f"({text})")


def _is_list(fault: Fault, name: ast.Name) -> bool:
    """Whether the name stands for a list, which is no tensor by leaving the call out."""
    scope = fault.source.function(name) or fault.source.tree
    values = [value for bound, value, _ in definitions(scope) if name.id in bound] if scope is not None else []
    return any(isinstance(value, (ast.List, ast.Tuple, ast.ListComp)) for value in values)


def remedies(fault: Fault) -> Iterable[Fix]:
    """Both ends of the detour: the call that leaves torch, and the one that comes back."""
    edits: list[Edit] = []
    if fault.cause == "tensor-rebuild":
        call = next((n for n in ast.walk(fault.node) if isinstance(n, ast.Call)), None)
        edit = rebuilt(fault, call) if call is not None else None
        if edit is not None:
            edits.append(edit)
    else:
        if _is_kept(fault):
            return
        leaving = without_method(fault, fault.node, ("item",)) or _without_float(fault)
        back = rebuilt(fault, fault.rebuild) if fault.rebuild is not None else None
        if leaving is not None and back is not None:
            edits = _both(fault, leaving, back)
        elif leaving is not None and fault.rebuild is None and fault.returned:
            edits = [leaving]
    if edits:
        title = Message(f"{fault.cause}.fix", {"result": Code(edits[-1].new_text)})
        yield Fix(title=title, applicability="unsafe", edits=tuple(edits))


def _is_kept(fault: Fault) -> bool:
    """Whether the number is added to what outlives the step, ``self.total += x.item()``: a tensor there would keep its graph."""
    statement = fault.source.statement(fault.node)
    return isinstance(statement, ast.AugAssign) and isinstance(statement.target, (ast.Attribute, ast.Subscript))


def _without_float(fault: Fault) -> Edit | None:
    node = fault.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "float" and node.args:
        return replace(fault, node, fault.source.segment(node.args[0]))
    return None


def _both(fault: Fault, leaving: Edit, back: Edit) -> list[Edit]:
    """Two edits, or one where the call that leaves stands inside the one that comes back."""
    assert fault.rebuild is not None
    inside = fault.source.span(fault.rebuild)
    if (inside.line, inside.column) <= (leaving.line, leaving.column) and (
        leaving.end_line,
        leaving.end_column,
    ) <= (
        inside.end_line,
        inside.end_column,
    ):
        old = fault.source.segment(fault.node)
        return [replace(fault, fault.rebuild, back.new_text.replace(old, leaving.new_text))]
    return [leaving, back]
