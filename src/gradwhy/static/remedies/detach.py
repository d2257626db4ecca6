"""Leaves out what makes a copy without history; a copy whose own gradient is asked for becomes a leaf."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import bound_names, called, dotted_name, names_read
from gradwhy.static.leaves import with_suffix
from gradwhy.static.remedy import Fault
from gradwhy.static.rewrites import is_helper, without_method

_PUTS = frozenset({"append", "extend", "insert", "add", "update", "setdefault", "put", "push", "copy_"})


def remedies(fault: Fault) -> Iterable[Fix]:
    node = fault.node
    if fault.symptom == "input-no-grad" and isinstance(node, ast.Call) and called(node) == "detach":
        # Detached on purpose, between two rounds of an attack: only the flag is missing.
        edits = with_suffix(fault, node, ".requires_grad_(True)")
        yield Fix(title=Message("detach.fix-leaf"), applicability="unsafe", edits=tuple(edits))
        return
    keeps = is_kept(fault) or is_helper(fault, node)
    edit = without_method(fault, node, ("detach", "detach_")) if not keeps else None
    if edit is not None:
        title = Message(f"{fault.cause}.fix", {"result": Code(edit.new_text)})
        yield Fix(title=title, applicability="unsafe", edits=(edit,))


def is_kept(fault: Fault) -> bool:
    """Whether the copy goes into what outlives the step: ``self.seen.append(x.detach())``, ``self.last[k] = x.detach()``.
    With its graph it would be gone backward through again."""
    source = fault.source
    for outer in source.enclosing(fault.node):
        if isinstance(outer, ast.Call) and isinstance(outer.func, ast.Attribute) and outer.func.attr in _PUTS:
            return dotted_name(_base(outer.func.value)).startswith("self.")
        if isinstance(outer, ast.Assign):
            keyed = [t for t in outer.targets if isinstance(t, ast.Subscript)]
            return any(dotted_name(_base(t.value)).startswith("self.") for t in keyed) or _joins(fault, outer)
        if isinstance(outer, ast.stmt):
            return False
    return False


def _joins(fault: Fault, statement: ast.Assign) -> bool:
    """``self.rows = torch.cat([rows, self.rows])``, of the copy itself or a name for it: what was kept before goes on."""
    names = {name for target in statement.targets for name in bound_names(target)}
    function = fault.source.function(statement)
    for node in ast.walk(function) if function is not None else ():
        if isinstance(node, ast.Assign) and node.lineno >= statement.lineno:
            states = {name for target in node.targets for name in bound_names(target) if name.startswith("self.")}
            read = names_read(node.value)
            if states & read and (node is statement or names & read):
                return True
    return False


def _base(node: ast.expr) -> ast.expr:
    """``self.seen`` of ``self.seen[k]``."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node
