"""Switches the model back to training mode when the evaluation is over."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Edit, Fix, Message
from gradwhy.source.slicing import dotted_name
from gradwhy.static import lines
from gradwhy.static.remedy import Fault, replace
from gradwhy.static.rewrites import indent_of


def remedies(fault: Fault) -> Iterable[Fix]:
    """``model.train()`` where the function that has switched it is left, or before the training that follows in a loop."""
    source = fault.source
    name = _switched(fault.node)
    switch = source.statement(fault.node)
    if not name or not isinstance(switch, ast.Expr) or switch.value is not fault.node:
        return
    block = source.block(switch)
    function = source.function(switch)
    edits: tuple[Edit | None, ...] = ()
    if not any(map(lines.goes_backward, _body(function if function is not None else source.tree))):
        if isinstance(function, ast.FunctionDef) and switch in function.body:
            edits = _at_the_end(fault, function, name)
    else:
        training = next((s for s in block if lines.goes_backward(s)), None)
        outer = source.parents.get(switch)
        if training is None and isinstance(outer, ast.If) and not lines.rebinds(block, name):
            # An evaluation every so many steps, in the middle of the training.
            edits = (lines.put_after(fault, block[-1], f"{name}.train()"),)
        elif training is not None and isinstance(training, (ast.For, ast.While)) and isinstance(outer, ast.For):
            edits = (lines.put_before(fault, training, f"{name}.train()"),)
    made = tuple(edit for edit in edits if edit is not None)
    if made and len(made) == len(edits):
        title = Message("eval-decorated.fix", {"result": Code(f"{name}.train()")})
        yield Fix(title=title, applicability="unsafe", edits=made)


def _switched(node: ast.AST) -> str:
    """``model`` of ``model.eval()``, ``model.train(False)``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return ""
    off = len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and node.args[0].value is False
    return dotted_name(node.func.value) if node.func.attr == "eval" or (node.func.attr == "train" and off) else ""


def _body(scope: ast.AST | None) -> list[ast.stmt]:
    return list(getattr(scope, "body", []))


def _at_the_end(fault: Fault, function: ast.FunctionDef, name: str) -> tuple[Edit | None, ...]:
    """Before the one ``return`` that ends the function, or as its last statement."""
    left = [
        n
        for n in ast.walk(function)
        if isinstance(n, (ast.Return, ast.Yield, ast.YieldFrom)) and _own(fault, n, function)
    ]
    last = function.body[-1]
    if lines.rebinds(function.body, name) and "." not in name:
        return ()
    if not left:
        if isinstance(last, ast.Raise):
            return ()
        return (lines.put_after(fault, last, f"{name}.train()"),)
    if len(left) > 1 or not isinstance(left[0], ast.Return):
        return ()
    end = left[0]
    if end is not last and not (isinstance(last, ast.With) and last.body[-1] is end):
        return ()
    root = name.partition(".")[0]
    value = end.value
    if value is None or not any(isinstance(n, ast.Call) and root in _names(n) for n in ast.walk(value)):
        return (lines.put_before(fault, end, f"{name}.train()"),)
    result = next((word for word in ("result", "output", "value") if word not in _names(function)), "")
    if not result or not lines.alone(fault.source, end):
        return ()
    # The model is used for what is given back: that comes first.
    indent = indent_of(fault.source, end.lineno)
    text = f"{result} = {fault.source.segment(value)}\n{indent}{name}.train()\n{indent}return {result}"
    return (replace(fault, end, text),)


def _own(fault: Fault, node: ast.AST, function: ast.FunctionDef) -> bool:
    return fault.source.function(node) is function


def _names(node: ast.AST) -> set[str]:
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return names | {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
