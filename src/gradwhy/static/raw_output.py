"""Gives the loss the network's output itself, where it was given positions."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Edit, Fix, Message
from gradwhy.source.slicing import bound_names, definitions, names_read
from gradwhy.static.remedy import Fault, replace
from gradwhy.static.rewrites import fitted, whole_lines_out


def remedies(fault: Fault) -> Iterable[Fix]:
    """Only where the loss call is known and the output's shape fits what it needs."""
    call = fault.loss_call
    if call is None or fault.given is None or fault.loss_slot >= len(call.args):
        return
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    argument = call.args[fault.loss_slot]
    new = fitted(fault.given, fault.made, fault.target, name)
    if new is None or not _reaches(fault, call):
        return
    edits: list[Edit] = [replace(fault, argument, new)]
    statement = fault.source.statement(fault.node)
    if isinstance(statement, ast.Assign) and _is_unused(fault, statement, argument):
        edits.append(whole_lines_out(fault, statement.lineno, statement.end_lineno or statement.lineno))
    facts: dict[str, Argument] = {"input": Code(new), "loss": Code(fault.source.segment(call.func))}
    title = Message(f"{fault.cause}.fix", facts)
    if new != fault.given.text and fault.target is not None:
        facts |= {"shape": str(fault.target.shape), "target": Code(fault.target.text)}
        title = Message(f"{fault.cause}.fix-shaped", facts)
    yield Fix(title=title, applicability="unsafe", edits=tuple(edits))


def _reaches(fault: Fault, call: ast.Call) -> bool:
    """Whether the output's name means the same at the loss call: the same function, and not bound in between."""
    source, given = fault.source, fault.given
    assert given is not None
    if source.function(fault.node) is not source.function(call):
        return False
    first, last = sorted((getattr(fault.node, "lineno", 0), call.lineno))
    names = names_read(ast.parse(given.text, mode="eval"))
    scope = source.function(call) or source.tree
    if scope is None:
        return False
    return not any(first < getattr(node, "lineno", 0) < last and bound & names for bound, _, node in definitions(scope))


def _is_unused(fault: Fault, statement: ast.Assign, argument: ast.expr) -> bool:
    """Whether nothing but the changed argument reads what the statement binds."""
    bound = {name for target in statement.targets for name in bound_names(target)} - {"_"}
    scope = fault.source.function(statement) or fault.source.tree
    inside = set(map(id, ast.walk(argument)))
    for node in ast.walk(scope) if scope is not None else ():
        if (
            isinstance(node, ast.Name)
            and node.id in bound
            and isinstance(node.ctx, ast.Load)
            and id(node) not in inside
        ):
            return False
    read = {node.id for node in ast.walk(argument) if isinstance(node, ast.Name)}
    return bool(bound & read)
