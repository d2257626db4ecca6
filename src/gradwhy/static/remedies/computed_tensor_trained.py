"""Makes what the optimizer gets a leaf: the flag after the arithmetic, or a copy without history."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import bound_names, called
from gradwhy.static.first_use import use_before
from gradwhy.static.leaves import LEAF, flag_last, whole, with_suffix
from gradwhy.static.remedy import Fault


def remedies(fault: Fault) -> Iterable[Fix]:
    """``torch.randn(3, requires_grad=True) * 0.1`` -> ``(torch.randn(3) * 0.1).requires_grad_(True)``; what a network
    computed is detached where the name is bound that the optimizer is given."""
    value = whole(fault.source, fault.node)
    edits = flag_last(fault, value) if value is not None else []
    if edits:
        yield Fix(title=Message("computed-tensor-trained.fix"), applicability="unsafe", edits=tuple(edits))
        return
    if value is not None and _is_only_start(fault, value):
        title = Message("computed-tensor-trained.fix-leaf", {"name": Code(fault.source.segment(value))})
        yield Fix(title=title, applicability="unsafe", edits=tuple(with_suffix(fault, value, LEAF)))
        return
    yield from _detached(fault)


def _is_only_start(fault: Fault, value: ast.expr) -> bool:
    """Whether a function that is called once gives the value back: what is trained begins there."""
    statement, function = fault.source.statement(value), fault.source.function(value)
    if (
        not isinstance(statement, ast.Return)
        or statement.value is not value
        or not isinstance(function, ast.FunctionDef)
    ):
        return False
    calls = [n for n in ast.walk(fault.source.tree or ast.Module([], [])) if called(n) == function.name]
    return len(calls) == 1 and function.name != "forward"


def _detached(fault: Fault) -> Iterable[Fix]:
    """``z = encoder(x)`` -> ``z = encoder(x).detach().requires_grad_()``, where ``z`` goes on being used after the optimizer
    was made of it and nothing else reads the tensor that it came from."""
    at = fault.spot("surfaces")
    statement = at.source.statement(at.node) if at is not None else None
    if at is None or statement is None:
        return
    call = next((n for n in ast.walk(statement) if isinstance(n, ast.Call) and n.args and _is_optimizer(n)), None)
    for name in _given(call) if call is not None else ():
        use = use_before(at.source, statement, name)
        binding = use.binding if use is not None and use.how == "assigned" else None
        value = getattr(binding, "value", None)
        if not isinstance(binding, ast.Assign) or not isinstance(value, (ast.Call, ast.BinOp, ast.Subscript)):
            continue
        if called(value) in ("list", "tuple", "requires_grad_", "detach") or not _read_later(fault, statement, name):
            continue
        if len(binding.targets) == 1 and isinstance(binding.targets[0], ast.Name):
            # A part shares its memory with the whole: the copy is what is changed.
            suffix = LEAF if not isinstance(value, ast.Subscript) else ".detach().clone().requires_grad_()"
            title = Message("computed-tensor-trained.fix-leaf", {"name": Code(name)})
            yield Fix(title=title, applicability="unsafe", edits=tuple(with_suffix(at, value, suffix)))
            return


def _is_optimizer(call: ast.Call) -> bool:
    return called(call)[:1].isupper()


def _given(call: ast.Call) -> list[str]:
    """The one name in the list that an optimizer is given; several are not told apart."""
    given = call.args[0]
    if isinstance(given, (ast.List, ast.Tuple)) and len(given.elts) == 1 and isinstance(given.elts[0], ast.Name):
        return [given.elts[0].id]
    return []


def _read_later(fault: Fault, statement: ast.stmt, name: str) -> bool:
    scope = fault.source.function(statement) or fault.source.tree
    later = [n for n in ast.walk(scope) if getattr(n, "lineno", 0) > (statement.end_lineno or 0)] if scope else []
    bound = any(name in bound_names(t) for n in later if isinstance(n, ast.Assign) for t in n.targets)
    return not bound and any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) for n in later)
