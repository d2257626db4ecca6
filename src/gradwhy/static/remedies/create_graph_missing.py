"""Asks for a gradient that has a graph of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Fix, Message
from gradwhy.static.remedy import Fault
from gradwhy.static.rewrites import with_keyword


def remedies(fault: Fault) -> Iterable[Fix]:
    call = next((n for n in ast.walk(fault.node) if isinstance(n, ast.Call) and _differentiates(n)), None)
    if call is not None:
        edit = with_keyword(fault, call, "create_graph", "True")
        yield Fix(title=Message("create_graph-missing.fix"), applicability="unsafe", edits=(edit,))


def _differentiates(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name in ("grad", "backward", "jacobian", "hessian", "vjp", "jvp", "vhp", "hvp")
