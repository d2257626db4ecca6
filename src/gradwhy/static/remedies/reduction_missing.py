"""Reduces the loss to one number where it is computed, or the outputs whose gradient is asked for."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Edit, Fix, Message
from gradwhy.source.slicing import bound_names, called, dotted_name, targets
from gradwhy.static.remedy import Fault, replace

_KEPT = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
# What may be done with the loss besides: it wants one number, or doesn't mind.
_READERS = frozenset({"backward", "item", "detach", "append", "print", "float", "manual_backward", "scale"})


def remedies(fault: Fault) -> Iterable[Fix]:
    """``reduction="mean"``, ``.mean()`` on the loss; ``.sum()`` for a gradient of each output, as is usual with ``grad``."""
    node = fault.node
    if isinstance(node, ast.Call) and called(node) == "grad":
        output = node.args[0] if node.args else None
        if isinstance(output, _KEPT):
            text = f"{fault.source.segment(output)}.sum()"
            yield _fix(text, replace(fault, output, text))
        return
    if any(station in fault.spots for station in ("asked",)):
        yield from list(_asked(fault)) or _where_bound(fault)
    elif isinstance(node, ast.expr):
        yield from _reduced(fault, node)


def _asked(fault: Fault) -> Iterable[Fix]:
    """The criterion reduces by itself, where it is called once and what it gives is only gone backward from."""
    node = fault.node
    statement = fault.source.statement(node)
    keyword = next((k for k in getattr(node, "keywords", []) if k.arg == "reduction"), None)
    made = fault.spot("made")
    if keyword is None or made is None or statement is None or fault.source.tree is None:
        return
    names = {name.rpartition(".")[2] for target in targets(statement) for name in bound_names(target)}
    named = [n for n in ast.walk(fault.source.tree) if isinstance(n, ast.Call) and called(n) in names]
    direct = made.node if isinstance(made.node, ast.stmt) else made.source.statement(made.node)
    value = getattr(direct, "value", None)
    if isinstance(value, ast.Call) and (value is node or (len(named) == 1 and value is named[0])):
        alone = isinstance(direct, ast.Return) and _returned_loss(fault, direct)
        if alone or (isinstance(direct, ast.Assign) and _only_loss(fault, direct)):
            yield _fix('reduction="mean"', replace(fault, keyword.value, '"mean"'))


def _returned_loss(fault: Fault, statement: ast.Return) -> bool:
    """Whether those who call the function, as far as the file tells, go backward from what it gives and do nothing else."""
    function, source = fault.source.function(statement), fault.source
    name = getattr(function, "name", "")
    if name in ("", "forward", "__call__") or source.tree is None:
        return True
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and called(node) == name:
            holder = source.parents.get(node)
            if isinstance(holder, ast.Assign):
                if not isinstance(holder.targets[0], (ast.Tuple, ast.List)) and not _only_loss(fault, holder):
                    return False
            elif not _reads_loss(fault, node):
                return False
    return True


def _where_bound(fault: Fault) -> Iterable[Fix]:
    """Each element of the loss is wanted for itself: the mean is taken where the name that goes backward is bound."""
    surface = fault.spot("surfaces")
    ends = [
        n for n in ast.walk(surface.node) if isinstance(n, ast.Call) and called(n) == "backward" and not n.args
    ] if surface is not None and surface.file == fault.file else []  # fmt: skip
    if len(ends) != 1 or not isinstance(ends[0].func, ast.Attribute):
        return
    source, name = fault.source, dotted_name(ends[0].func.value)
    scope = source.function(ends[0]) or source.tree
    bound = [
        n for n in ast.walk(scope or ast.Module([], []))
        if isinstance(n, (ast.Assign, ast.AugAssign)) and name in {b for t in targets(n) for b in bound_names(t)}
    ]  # fmt: skip
    if "." not in name and len(bound) == 1 and isinstance(bound[0], ast.Assign) and _only_loss(fault, bound[0]):
        value = bound[0].value
        text = source.segment(value)
        result = f"{text}.mean()" if isinstance(value, _KEPT) else f"({text}).mean()"
        yield _fix(".mean()", replace(fault, value, result))


def _reduced(fault: Fault, node: ast.expr) -> Iterable[Fix]:
    """The whole value of a statement, where it is what goes backward."""
    statement = fault.source.statement(node)
    if isinstance(statement, ast.Assign) and statement.value is node:
        fits = _only_loss(fault, statement)
    else:
        fits = isinstance(statement, ast.Return) and statement.value is node and _called_once(fault, node)
    if fits:
        text = fault.source.segment(node)
        whole = isinstance(node, _KEPT) or _ends_in_call(node)
        result = f"{text}.mean()" if whole else f"({text}).mean()"
        yield _fix(".mean()", replace(fault, node, result))


def _ends_in_call(node: ast.expr) -> bool:
    """``-0.5 * x.sum(dim=1)``: ``.mean()`` of the last factor is the same as of the product with numbers."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left = node.left.operand if isinstance(node.left, ast.UnaryOp) else node.left
        return isinstance(left, ast.Constant) and isinstance(node.right, ast.Call)
    return False


def _only_loss(fault: Fault, statement: ast.Assign) -> bool:
    """Whether all that is done with the value besides is to go backward from it, or to log it."""
    target = statement.targets[0]
    name = dotted_name(target)
    scope = fault.source.function(statement) or fault.source.tree
    if not name or len(statement.targets) != 1 or scope is None:
        return False
    for node in ast.walk(scope):
        if isinstance(node, (ast.Name, ast.Attribute)) and dotted_name(node) == name and node is not target:
            if not _reads_loss(fault, node):
                return False
    return True


def _reads_loss(fault: Fault, node: ast.AST) -> bool:
    outer = fault.source.parents.get(node)
    if isinstance(outer, ast.Attribute):
        return outer.attr in _READERS
    if isinstance(outer, ast.Call):
        return called(outer) in _READERS
    return isinstance(outer, (ast.FormattedValue, ast.Return))


def _called_once(fault: Fault, node: ast.expr) -> bool:
    """Whether the function that gives the value back is used in one place of the file: nothing else wants it unreduced."""
    function = fault.source.function(node)
    name = getattr(function, "name", "")
    if not isinstance(function, ast.FunctionDef) or fault.source.tree is None:
        return False
    returns = [n for n in ast.walk(function) if isinstance(n, ast.Return)]
    if len(returns) != 1:
        return False
    if name == "forward":
        outer = fault.source.parents.get(function)
        name = getattr(outer, "name", "")
    return len([n for n in ast.walk(fault.source.tree) if isinstance(n, ast.Call) and called(n) == name]) == 1


def _fix(result: str, edit: Edit) -> Fix:
    title = Message("reduction-missing.fix", {"result": Code(result)})
    return Fix(title=title, applicability="unsafe", edits=(edit,))
