"""Gives the optimizer the parameters that train, where none is released after it is made."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradwhy.findings import Code, Fix, Message
from gradwhy.static.remedy import Fault, replace

_FLAG = "requires_grad"


def remedies(fault: Fault) -> Iterable[Fix]:
    """``model.parameters()`` becomes a list of those that require grad when the optimizer is made."""
    call = fault.node
    given = _given(call) if isinstance(call, ast.Call) else None
    if not isinstance(given, ast.Call) or given.args or given.keywords or not isinstance(given.func, ast.Attribute):
        return
    if given.func.attr != "parameters" or _released_later(fault, call):
        return
    new = f"[p for p in {fault.source.segment(given)} if p.requires_grad]"
    title = Message("frozen-in-optimizer.fix", {"result": Code(new)})
    yield Fix(title=title, applicability="safe", edits=(replace(fault, given, new),))


def _given(call: ast.Call) -> ast.expr | None:
    named = next((keyword.value for keyword in call.keywords if keyword.arg == "params"), None)
    return call.args[0] if call.args else named


def _released_later(fault: Fault, made: ast.AST) -> bool:
    """Whether a parameter may be released once the optimizer is there: then it has to hold what is frozen now."""
    source = fault.source
    here, line = source.function(made), getattr(made, "lineno", 0)
    for release in _releases(source.tree):
        function = source.function(release)
        if function is here:
            if release.lineno > line:
                return True
        elif not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            # At the top of the file, and the optimizer is made by a function: in which order is not seen.
            return True
        elif any(
            source.function(call) is not here or call.lineno > line for call in _calls(source.tree, function.name)
        ):
            return True
    return False


def _releases(tree: ast.Module | None) -> Iterator[ast.expr]:
    """What sets the flag to anything but False, or may."""
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Assign):
            flags = [t for t in node.targets if isinstance(t, ast.Attribute) and t.attr == _FLAG]
            if flags and not _is_false(node.value):
                yield flags[0]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == f"{_FLAG}_":
            if not (node.args and _is_false(node.args[0])):
                yield node


def _calls(tree: ast.Module | None, name: str) -> Iterator[ast.expr]:
    """The calls of a function, or of a method of that name, and where it is handed on."""
    for node in ast.walk(tree) if tree is not None else ():
        read = isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        if isinstance(node, (ast.Name, ast.Attribute)) and (read or getattr(node, "attr", "") == name):
            yield node


def _is_false(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is False
