"""Asks for a gradient that has a graph of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Fix, Message
from gradwhy.source.slicing import called
from gradwhy.static.remedy import Fault
from gradwhy.static.rewrites import with_keyword

_DIFFERENTIATE = frozenset({"grad", "backward", "jacobian", "hessian", "vjp", "jvp", "vhp", "hvp"})


def remedies(fault: Fault) -> Iterable[Fix]:
    """``create_graph=True`` in the call, or in the call of a function that passes its keywords on to it."""
    calls = [n for n in ast.walk(fault.node) if isinstance(n, ast.Call)]
    call = next((n for n in calls if called(n) in _DIFFERENTIATE), None)
    if call is not None and any(k.arg is None for k in call.keywords):
        # What ``**options`` holds is not known: the same keyword twice is an error.
        return
    if call is None:
        call = next((n for n in calls if _passes_on(fault, called(n))), None)
    if call is not None:
        edit = with_keyword(fault, call, "create_graph", "True")
        yield Fix(title=Message("create_graph-missing.fix"), applicability="unsafe", edits=(edit,))


def _passes_on(fault: Fault, name: str) -> bool:
    """Whether the one function of this name in the file gives its ``create_graph`` or its ``**options`` to such a call."""
    functions = [n for n in ast.walk(fault.source.tree or ast.Module([], [])) if isinstance(n, ast.FunctionDef)]
    named = [n for n in functions if name and n.name == name]
    if len(named) != 1:
        return False
    arguments = named[0].args
    options = arguments.kwarg.arg if arguments.kwarg is not None else ""
    own = "create_graph" in {a.arg for a in (*arguments.args, *arguments.kwonlyargs)}
    for call in ast.walk(named[0]):
        if isinstance(call, ast.Call) and called(call) in _DIFFERENTIATE:
            for keyword in call.keywords:
                read = keyword.value.id if isinstance(keyword.value, ast.Name) else ""
                if (keyword.arg is None and read == options) or (keyword.arg == read == "create_graph" and own):
                    return True
    return False
