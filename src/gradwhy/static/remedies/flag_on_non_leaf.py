"""Makes a leaf of what is flagged, or leaves out its history instead of its flag."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import called, dotted_name, names_read
from gradwhy.static.leaves import LEAF, flag_last, is_true, whole
from gradwhy.static.remedy import Fault, replace
from gradwhy.static.rewrites import whole_lines_out

_PLAIN = frozenset({"torch", "F", "math", "np", "numpy"})


def remedies(fault: Fault) -> Iterable[Fix]:
    """``t.requires_grad = False`` -> ``t = t.detach()``; for a flag that is to be on, the leaf that the name began as, else
    ``t = t.detach().requires_grad_()`` where nothing but arithmetic made the tensor."""
    source = fault.source
    statement = source.statement(fault.node)
    flagged = _flagged(statement) if statement is not None else None
    if statement is None or flagged is None:
        return
    target, on = flagged
    name = source.segment(target)
    made = fault.spot("made")
    value = whole(made.source, made.node) if made is not None else None
    edits = flag_last(made, value) if made is not None and value is not None else []
    if edits:
        yield Fix(title=Message("flag-on-non-leaf.fix-made"), applicability="unsafe", edits=tuple(edits))
    elif not on:
        if not _is_loop_variable(fault, target):
            edit = replace(fault, statement, f"{name} = {name}.detach()")
            title = Message("flag-on-non-leaf.fix-off", {"result": Code(edit.new_text)})
            yield Fix(title=title, applicability="safe", edits=(edit,))
    elif isinstance(target, ast.Name) and _is_arithmetic(fault, statement, name):
        edit = replace(fault, statement, f"{name} = {name}{LEAF}")
        title = Message("flag-on-non-leaf.fix-leaf", {"result": Code(edit.new_text)})
        yield Fix(title=title, applicability="unsafe", edits=(edit,))
    elif isinstance(target, ast.Name) and _is_asked_for(fault, statement, name):
        # It requires grad already, by its history.
        if len(source.block(statement)) > 1 and statement.end_lineno is not None:
            edit = whole_lines_out(fault, statement.lineno, statement.end_lineno)
            title = Message("flag-on-non-leaf.fix-out", {"name": Code(name)})
            yield Fix(title=title, applicability="safe", edits=(edit,))


def _flagged(statement: ast.stmt) -> tuple[ast.expr, bool] | None:
    """(what is flagged, whether on) of ``t.requires_grad = on`` and ``t.requires_grad_(on)`` as a statement of its own."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Attribute) and target.attr == "requires_grad":
            constant = isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, bool)
            return (target.value, is_true(statement.value)) if constant and dotted_name(target.value) else None
    if isinstance(statement, ast.Expr) and called(statement.value) == "requires_grad_":
        call = statement.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and dotted_name(call.func.value):
            given = [*call.args, *(k.value for k in call.keywords)]
            if not given or (isinstance(given[0], ast.Constant) and isinstance(given[0].value, bool)):
                return call.func.value, not given or is_true(given[0])
    return None


def _is_asked_for(fault: Fault, statement: ast.stmt, name: str) -> bool:
    """Whether ``torch.autograd.grad`` is asked for the tensor's gradient: that takes computed ones, where ``.grad`` does not."""
    scope = fault.source.function(statement) or fault.source.tree
    asked = False
    for node in ast.walk(scope or ast.Module([], [])):
        if dotted_name(node) == f"{name}.grad":
            return False
        if called(node) == "grad" and isinstance(node, ast.Call) and node.lineno > statement.lineno:
            asked = asked or any(name in names_read(given) for given in node.args[1:2])
    return asked


def _is_loop_variable(fault: Fault, target: ast.expr) -> bool:
    """A loop's variable is only a name for what stays as it is elsewhere."""
    loops = [n for n in fault.source.enclosing(target) if isinstance(n, (ast.For, ast.AsyncFor))]
    name = dotted_name(target)
    return any(name in {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)} for loop in loops)


def _is_arithmetic(fault: Fault, statement: ast.stmt, name: str) -> bool:
    """Whether the name is only bound to arithmetic and torch functions: no network stands behind it that would stop learning."""
    scope = fault.source.function(statement) or fault.source.tree
    values = [
        node.value
        for node in ast.walk(scope or ast.Module([], []))
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
    ]
    calls = [n for value in values for n in ast.walk(value) if isinstance(n, ast.Call)]
    return bool(values) and all(_is_tensor_call(call) for call in calls)


def _is_tensor_call(call: ast.Call) -> bool:
    """A function of torch, or a method of a tensor: ``x.clamp()``, not ``self.encoder(x)`` or ``encode(x)``."""
    root = dotted_name(call.func)
    if root.partition(".")[0] in _PLAIN:
        return True
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return owner is not None and not (isinstance(owner, ast.Name) and owner.id in ("self", "cls"))
