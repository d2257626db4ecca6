"""Updates the scaler after its step, and before the function is left in another way."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import dotted_name
from gradwhy.static import lines
from gradwhy.static.remedy import Fault, Spot


def remedies(fault: Fault) -> Iterable[Fix]:
    """``scaler.update()`` before the way out, or after the last of the steps."""
    given = fault.args.get("scaler")
    name = getattr(given, "text", "")
    statement = fault.source.statement(fault.node)
    if not name or statement is None:
        return
    if fault.headline == "headline-skipped":
        at: Spot | None = Spot(fault.file, fault.source, statement)
        edit = lines.put_before(fault, statement, f"{name}.update()")
    else:
        at = fault.spot("called") if fault.headline == "headline-rare" else Spot(fault.file, fault.source, statement)
        last = _last_step(at, name) if at is not None else None
        edit = lines.put_after(at, last, f"{name}.update()") if at is not None and last is not None else None
    if edit is not None:
        title = Message("scaler-update-missing.fix", {"result": Code(f"{name}.update()")})
        yield Fix(title=title, applicability="unsafe", edits=(edit,))


def _last_step(at: Spot, name: str) -> ast.stmt | None:
    """The last of the steps of a scaler that follow each other, the one at hand among them."""
    statement = at.source.statement(at.node)
    block = at.source.block(statement) if statement is not None else []
    last = None
    for each in block[block.index(statement) :] if statement in block else []:
        if not isinstance(each, ast.Expr) or not _steps(each, name):
            break
        last = each
    return last


def _steps(statement: ast.Expr, name: str) -> bool:
    call = statement.value
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "step"
        and dotted_name(call.func.value) == name
    )
