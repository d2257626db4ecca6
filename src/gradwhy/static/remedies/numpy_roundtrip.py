"""Computes with torch what NumPy refused, or detaches what is only looked at."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import backward_slice, called, dotted_name
from gradwhy.source.text import SourceText
from gradwhy.static.leaves import end_of, inserted
from gradwhy.static.remedy import Fault, replace

# NumPy's functions that torch has under the same name with the same meaning for tensors: of one tensor, of two.
_OF_ONE = frozenset({
    "abs", "arctan", "ceil", "cos", "exp", "expm1", "floor", "log", "log10", "log1p", "log2", "sign", "sin", "sqrt",
    "square", "tan", "tanh",
})  # fmt: skip
_OF_TWO = frozenset({"maximum", "minimum", "logaddexp", "hypot", "arctan2"})


def remedies(fault: Fault) -> Iterable[Fix]:
    if fault.headline != "headline-refused" or not isinstance(fault.node, ast.Call):
        return
    call, source = fault.node, fault.source
    root, _, name = dotted_name(call.func).rpartition(".")
    of = len(call.args) if not call.keywords else 0
    tensors = all(not isinstance(a, (ast.Constant, ast.UnaryOp)) for a in call.args)
    if root in ("np", "numpy") and tensors and ((of == 1 and name in _OF_ONE) or (of == 2 and name in _OF_TWO)):
        edit = replace(fault, call.func, f"torch.{name}")
        title = Message("numpy-roundtrip.fix-torch", {"result": Code(edit.new_text)})
        yield Fix(title=title, applicability="unsafe", edits=(edit,))
    elif called(call) == "numpy" and isinstance(call.func, ast.Attribute) and not _feeds_a_loss(fault, call):
        line, column = end_of(source, call.func)
        at = (line, column - len(".numpy"))
        edit = inserted(fault, at, ".detach()")
        yield Fix(title=Message("numpy-roundtrip.fix-detach"), applicability="safe", edits=(edit,))


def _feeds_a_loss(fault: Fault, call: ast.Call, depth: int = 4) -> bool:
    """Whether a backward pass goes through the array: in this function, or in one of the file that it is given back to."""
    source = fault.source
    scope = source.function(call) or source.tree
    if scope is None or not depth:
        return True
    ends = [
        n.func.value
        for n in ast.walk(scope)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "backward"
    ]
    given = [n.value for n in ast.walk(scope) if isinstance(n, (ast.Return, ast.Yield)) and n.value is not None]
    if _is_in(source, call, ends):
        return True
    if not _is_in(source, call, given):
        return False
    name = getattr(scope, "name", "")
    uses = [n for n in ast.walk(source.tree or scope) if isinstance(n, ast.Call) and called(n) == name]
    # One that is called by another name, or as an operator, may be called by anybody.
    hidden = not uses or name.startswith("__") or name in ("forward", "closure")
    return hidden or any(_feeds_a_loss(fault, use, depth - 1) for use in uses)


def _is_in(source: SourceText, call: ast.Call, ends: list[ast.expr]) -> bool:
    return id(call) in {id(part) for end in ends for value in backward_slice(source, end) for part in ast.walk(value)}
