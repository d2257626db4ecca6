"""Makes new tensors in place of views that are written to."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import bound_names, dotted_name
from gradwhy.static import leaf_writes
from gradwhy.static.fresh import applied, chain_of, operator_of, renamed, rewritten
from gradwhy.static.rebinding import may_bind, read_after
from gradwhy.static.remedy import Fault, replace


def remedies(fault: Fault) -> Iterable[Fix]:
    """A loop over the parts of a tensor becomes a stack of new parts; another write a new tensor. A view that was made with
    gradients off, and is written to for its base alone, is written to with gradients off."""
    statement = fault.source.statement(fault.node)
    if statement is None:
        return
    if fault.headline == "headline-mode":
        name = leaf_writes.written(statement)
        if name and "." not in name and not read_after(fault.source, statement, name):
            edits = leaf_writes.without_gradients(fault)
            if edits:
                yield Fix(title=Message("view-inplace.fix-no-grad"), applicability="unsafe", edits=tuple(edits))
        return
    yield from _stacked(fault, statement)
    new = rewritten(fault)
    if new is not None:
        title = Message(f"view-inplace.{new.key}", {"result": Code(new.result)})
        yield Fix(title=title, applicability="unsafe", edits=new.edits)


def _stacked(fault: Fault, statement: ast.stmt) -> Iterable[Fix]:
    """``for part in x: part.mul_(2)`` -> ``x = torch.stack([part.mul(2) for part in x])``."""
    source = fault.source
    loop = source.parents.get(statement)
    name, part = leaf_writes.written(statement), _new_part(fault, statement)
    torch = leaf_writes.torch_name(source)
    if not isinstance(loop, ast.For) or loop.body != [statement] or loop.orelse or not part or not torch:
        return
    whole = _walked(loop, name)
    if not whole or "\n" in source.segment(loop.iter) or not may_bind(source, loop, whole):
        return
    target = source.segment(loop.target)
    text = f"{whole} = {torch}.stack([{part} for {target} in {source.segment(loop.iter)}])"
    title = Message("view-inplace.fix-stack", {"result": Code(text)})
    yield Fix(title=title, applicability="unsafe", edits=(replace(fault, loop, text),))


def _new_part(fault: Fault, statement: ast.stmt) -> str:
    """The new value of the part that a statement writes to, on one line."""
    source = fault.source
    if statement.lineno != statement.end_lineno:
        return ""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        operator, value = operator_of(statement), source.segment(statement.value)
        simple = isinstance(statement.value, (ast.Name, ast.Attribute, ast.Call, ast.Constant, ast.Subscript))
        return f"{statement.target.id} {operator} {value if simple else f'({value})'}" if operator else ""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        chain, written, whole = chain_of(source, statement.value)
        if isinstance(written, ast.Name) and whole is statement.value:
            return applied(source, whole, [renamed(fault, func) for func in chain])
    return ""


def _walked(loop: ast.For, part: str) -> str:
    """The tensor whose parts a loop takes as ``part``: ``x`` of ``for part in x`` and ``for part, m in zip(x, means)``."""
    walked, target = loop.iter, loop.target
    if isinstance(walked, ast.Call) and dotted_name(walked.func) in ("zip", "enumerate"):
        targets = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
        given: list[ast.expr] = list(walked.args)
        if dotted_name(walked.func) == "enumerate":
            targets, given = targets[1:], given[:1]
        for item, source in zip(targets, given):
            if isinstance(item, ast.Name) and item.id == part:
                return source.id if isinstance(source, ast.Name) else ""
        return ""
    alone = isinstance(walked, ast.Name) and list(bound_names(target)) == [part]
    return walked.id if alone and isinstance(walked, ast.Name) else ""
