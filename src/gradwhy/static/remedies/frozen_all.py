"""Releases what was meant to train: the flag's spelling, the order of freezing, a layer that is frozen by default."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import bound_names, dotted_name
from gradwhy.source.text import Span
from gradwhy.static.remedies import misspelt_flag
from gradwhy.static.remedy import Fault, replace
from gradwhy.static.rewrites import with_keyword


def remedies(fault: Fault) -> Iterable[Fix]:
    """The flag's right spelling; else freezing before the new part is added instead of after it."""
    node = fault.node
    if isinstance(node, ast.Call) and dotted_name(node.func).endswith(
        ("Embedding.from_pretrained", "EmbeddingBag.from_pretrained")
    ):
        # Frozen by default (torch.nn.Embedding.from_pretrained).
        edit = with_keyword(fault, node, "freeze", "False")
        yield Fix(
            title=Message("frozen-all.fix", {"result": Code("freeze=False")}), applicability="unsafe", edits=(edit,)
        )
        return
    yield from _spelling(fault)
    yield from order(fault)


def _spelling(fault: Fault) -> Iterable[Fix]:
    statement = fault.source.statement(fault.node)
    if isinstance(statement, ast.Assign) and not _is_false(statement.value) and not _is_of_parameter(fault, statement):
        yield from misspelt_flag.remedies(fault)


def _is_of_parameter(fault: Fault, statement: ast.Assign) -> bool:
    """``p.requires_grad = ...`` in a loop over parameters: spelt right, and set on what has the flag."""
    target = statement.targets[0]
    if (
        not isinstance(target, ast.Attribute)
        or target.attr != "requires_grad"
        or not isinstance(target.value, ast.Name)
    ):
        return False
    loops = [
        n
        for n in fault.source.enclosing(statement)
        if isinstance(n, ast.For) and target.value.id in bound_names(n.target)
    ]
    return any("parameters" in fault.source.segment(loop.iter) for loop in loops)


def order(fault: Fault) -> Iterable[Fix]:
    """The freeze and the statement before it change places, where that one adds something to the same module."""
    source = fault.source
    freeze = source.statement(fault.node)
    while freeze is not None and isinstance(parent := source.parents.get(freeze), ast.For) and len(parent.body) == 1:
        freeze = parent
    block = source.block(freeze) if freeze is not None else []
    if freeze is None or not block or (index := block.index(freeze)) == 0:
        return
    before = block[index - 1]
    if not _adds_to(before, _frozen(freeze)) or before.end_lineno is None or freeze.end_lineno is None:
        return
    first, second = (_lines(fault, part.lineno, part.end_lineno or part.lineno) for part in (before, freeze))
    between = _lines(fault, before.end_lineno + 1, freeze.lineno - 1)
    last_line = source.line(freeze.end_lineno)
    whole = Span(before.lineno, 1, freeze.end_lineno, len(last_line) + 1)
    edit = replace(fault, whole, "\n".join([*second, *between, *first]))
    title = Message("frozen-all.fix-order", {"before": Code(source.segment(before))})
    yield Fix(title=title, applicability="unsafe", edits=(edit,))


def _frozen(freeze: ast.stmt) -> set[str]:
    """The modules that a freeze names: ``self.net`` of ``self.net.parameters()``, ``net`` of ``set_trainable(net, False)``."""
    names: set[str] = set()
    for call in ast.walk(freeze):
        if isinstance(call, ast.Call):
            owner = dotted_name(call.func.value) if isinstance(call.func, ast.Attribute) else ""
            names |= {owner, *(dotted_name(argument) for argument in call.args)} - {""}
    return names


def _adds_to(statement: ast.stmt, names: set[str]) -> bool:
    """``model.fc = ...``, ``attach_head(model, ...)`` and ``model = add_adapters(model, ...)`` add to ``model``."""
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], (ast.Attribute, ast.Subscript)):
        base = f"{dotted_name(statement.targets[0].value)}."
        # The frozen module itself or a part of it, and something that is made new.
        return isinstance(statement.value, ast.Call) and any(base.startswith(f"{name}.") for name in names)
    value = statement.value if isinstance(statement, (ast.Assign, ast.Expr)) else None
    if not isinstance(value, ast.Call) or not value.args or not isinstance(value.args[0], ast.Name):
        return False
    target = statement.targets[0] if isinstance(statement, ast.Assign) else value.args[0]
    return value.args[0].id in names and isinstance(target, ast.Name) and target.id == value.args[0].id


def _lines(fault: Fault, first: int, last: int) -> list[str]:
    return [fault.source.line(number) for number in range(first, last + 1)]


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False
