"""Steps through the scaler that has scaled the loss."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Edit, Fix, Message
from gradwhy.source.slicing import dotted_name
from gradwhy.static import lines
from gradwhy.static.remedy import Fault, replace


def remedies(fault: Fault) -> Iterable[Fix]:
    """``optimizer.step()`` -> ``scaler.step(optimizer)``, ``loss.backward()`` -> ``scaler.scale(loss).backward()``."""
    call, source = fault.node, fault.source
    statement = source.statement(call)
    if (
        not isinstance(call, ast.Call)
        or not isinstance(call.func, ast.Attribute)
        or not isinstance(statement, ast.Expr)
    ):
        return
    owner = source.segment(call.func.value)
    if fault.headline in ("headline-step", "headline-audit") and call.func.attr == "step" and not call.args:
        scaler = _scaler(fault, call)
        if not scaler:
            return
        edits: list[Edit | None] = [replace(fault, call, f"{scaler}.step({owner})")]
        if not _updated(fault):
            edits.append(lines.put_after(fault, statement, f"{scaler}.update()"))
        yield from _fix(f"{scaler}.step({owner})", edits)
    elif fault.headline == "headline-backward" and call.func.attr == "backward":
        scaler = _scaler(fault, call)
        if scaler and isinstance(call.func.value, (ast.Name, ast.Attribute)):
            yield from _fix(
                f"{scaler}.scale({owner}).backward()", [replace(fault, call.func.value, f"{scaler}.scale({owner})")]
            )


def _scaler(fault: Fault, call: ast.Call) -> str:
    """The scaler by the name that the same function has for it."""
    source = fault.source
    scope = source.function(call) or source.tree
    body = ast.Module(list(getattr(scope, "body", [])), [])
    names = {
        dotted_name(other.func.value)
        for other in lines.calls(body, "scale", "unscale_", "update", "step")
        if isinstance(other.func, ast.Attribute)
        and (other.func.attr in ("scale", "unscale_") or "scaler" in dotted_name(other.func.value).lower())
    }
    return names.pop() if len(names) == 1 else ""


def _updated(fault: Fault) -> bool:
    """Whether the program updates a scaler somewhere."""
    assert fault.source.tree is not None
    return any(
        isinstance(n, ast.Call)
        and isinstance(n.func, ast.Attribute)
        and n.func.attr == "update"
        and "scaler" in dotted_name(n.func.value).lower()
        for n in ast.walk(fault.source.tree)
    )


def _fix(result: str, edits: list[Edit | None]) -> Iterable[Fix]:
    made = tuple(edit for edit in edits if edit is not None)
    if len(made) == len(edits):
        title = Message("scaler-bypassed.fix", {"result": Code(result)})
        yield Fix(title=title, applicability="unsafe", edits=made)
