"""Makes the parameter in float32, where the file shows its dtype."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Edit, Fix, Message
from gradwhy.source.slicing import called, dotted_name
from gradwhy.static import lines
from gradwhy.static.remedy import Fault, replace
from gradwhy.static.rewrites import without_method

_HALF = ("torch.float16", "torch.half")


def remedies(fault: Fault) -> Iterable[Fix]:
    """``dtype=torch.float16`` -> ``torch.float32``, also where it is a parameter's default; ``.half()`` is left out.

    Nothing, where the file calls ``.half()`` elsewhere too: what is given to the model would not fit any more.
    """
    tree = fault.source.tree
    halves = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and called(node) == "half"] if tree else []
    if len(halves) > 1:
        return
    edit = _written(fault) or without_method(fault, fault.node, ("half",))
    if edit is not None:
        title = Message("half-precision-parameter.fix", {"result": Code("torch.float32")})
        yield Fix(title=title, applicability="unsafe", edits=(edit,))


def _written(fault: Fault) -> Edit | None:
    given = [keyword.value for call in lines.calls(fault.node) for keyword in call.keywords if keyword.arg == "dtype"]
    if len(given) != 1:
        return None
    if dotted_name(given[0]) in _HALF:
        return replace(fault, given[0], "torch.float32")
    return _default(fault, given[0]) if isinstance(given[0], ast.Name) else None


def _default(fault: Fault, name: ast.Name) -> Edit | None:
    """The default of the parameter that a dtype comes from, where no call in the file passes another."""
    function, tree = fault.source.function(name), fault.source.tree
    if not isinstance(function, ast.FunctionDef) or tree is None:
        return None
    positional = function.args.args[len(function.args.args) - len(function.args.defaults) :]
    pairs = [*zip(positional, function.args.defaults), *zip(function.args.kwonlyargs, function.args.kw_defaults)]
    default = next((value for arg, value in pairs if arg.arg == name.id and value is not None), None)
    outer = fault.source.parents.get(function)
    named = outer.name if isinstance(outer, ast.ClassDef) and function.name == "__init__" else function.name
    passed = [
        call
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        and called(call) == named
        and any(keyword.arg in (name.id, None) for keyword in call.keywords)
    ]
    if default is None or passed or dotted_name(default) not in _HALF:
        return None
    return replace(fault, default, "torch.float32")
