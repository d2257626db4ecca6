"""Whether a name may be given a new tensor where the old one was changed in place, without anything else missing the change."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradwhy.source.slicing import bound_names, definitions, dotted_name, targets
from gradwhy.source.text import SourceText

_VIEWS = frozenset({
    "view", "reshape", "t", "transpose", "permute", "squeeze", "unsqueeze", "narrow", "select", "chunk", "split",
    "unbind", "expand", "flatten", "diagonal", "unfold", "T", "mT", "detach", "data", "contiguous", "view_as",
    "expand_as", "swapaxes", "movedim", "tensor_split", "unflatten",
})  # fmt: skip
"""Methods whose result may share its memory with what they are called on (torch, "Tensor Views")."""


def may_bind(source: SourceText, statement: ast.stmt, name: str) -> bool:
    """Whether ``name = <a new tensor>`` in the place of a write to ``name`` gives the same to everything that reads it."""
    if "." in name:
        return not _is_parameter(source, name.rpartition(".")[2]) and name.partition(".")[0] == "self"
    scope = source.function(statement) or source.tree
    if scope is None or not _local(source, scope, name):
        return False
    if not read_after(source, statement, name):
        return False
    for bound, value, node in definitions(scope):
        if name not in bound or isinstance(node, ast.AugAssign):
            continue
        if isinstance(node, (ast.For, ast.AsyncFor)) and _within(source, statement, node):
            # The next turn takes the next item: the one in the list stays as it was.
            root = _root(value)
            if not root or read_after(source, node, root):
                return False
        root = _shared_with(value)
        if root and root != name and ("." in root or read_after(source, statement, root)):
            return False
    return True


def read_after(source: SourceText, statement: ast.stmt, name: str) -> bool:
    """Whether ``name`` is read after a statement of the same function, in a later turn of its loop included."""
    scope = source.function(statement) or source.tree
    if scope is None:
        return False
    loop = _outermost_loop(source, statement)
    last = statement.end_lineno or statement.lineno
    inside = set(ast.walk(statement))
    for node in ast.walk(scope):
        if node in inside or dotted_name(node) != name or not isinstance(getattr(node, "ctx", None), ast.Load):
            continue
        line = getattr(node, "lineno", 0)
        if line > last or (loop is not None and line >= loop.lineno and not _rebound_before(loop, node, name)):
            return True
    return False


def _rebound_before(loop: ast.For | ast.While, node: ast.AST, name: str) -> bool:
    """Whether each turn of the loop gives the name a value before the line that reads it."""
    if isinstance(loop, ast.For) and name in set(bound_names(loop.target)):
        return True
    line = getattr(node, "lineno", 0)
    for part in loop.body:
        if (part.end_lineno or part.lineno) >= line:
            return False
        if isinstance(part, (ast.Assign, ast.AnnAssign)) and name in {b for t in targets(part) for b in bound_names(t)}:
            return True
    return False


def _outermost_loop(source: SourceText, statement: ast.stmt) -> ast.For | ast.While | None:
    function = source.function(statement)
    loops = [o for o in source.enclosing(statement) if isinstance(o, (ast.For, ast.While))]
    return next((loop for loop in reversed(loops) if source.function(loop) is function), None)


def _within(source: SourceText, node: ast.AST, outer: ast.AST) -> bool:
    return any(o is outer for o in source.enclosing(node))


def _local(source: SourceText, scope: ast.AST, name: str) -> bool:
    if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return isinstance(scope, ast.Module)
    given = {a.arg for a in ast.walk(scope.args) if isinstance(a, ast.arg)}
    return name in given or name in set(_bound(scope))


def _bound(scope: ast.AST) -> Iterator[str]:
    """The names that are bound in a scope by other statements than ``x += 1``, and those that it declares."""
    for node in ast.walk(scope):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            yield from node.names
        elif not isinstance(node, ast.AugAssign):
            for target in targets(node):
                if not isinstance(target, ast.Subscript):
                    yield from bound_names(target)


def _root(node: ast.AST) -> str:
    while isinstance(node, (ast.Subscript, ast.Call)):
        if isinstance(node, ast.Call):
            node = node.func
        else:
            node = node.value
    return dotted_name(node)


def _shared_with(value: ast.expr) -> str:
    """The name whose memory a value may share: ``x`` of ``x``, ``x[0]``, ``x.view(-1)``, "" for what is computed."""
    node: ast.AST = value
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Attribute) or node.func.attr not in _VIEWS:
                return ""
            on_torch = dotted_name(node.func.value) == "torch"
            node = (node.args or [ast.Constant(None)])[0] if on_torch else node.func.value
        elif isinstance(node, ast.Attribute) and node.attr in _VIEWS:
            node = node.value
        else:
            return dotted_name(node)


def _is_parameter(source: SourceText, attribute: str) -> bool:
    """Whether an attribute holds a parameter, as far as the file tells; those of layers of torch do."""
    if attribute in ("weight", "bias", "data", "grad"):
        return True
    for node in ast.walk(source.tree or ast.Module([], [])):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            named = any(dotted_name(t).rpartition(".")[2] == attribute for t in targets(node))
            if named and any(_last(n) == "Parameter" for n in ast.walk(node.value) if isinstance(n, ast.Call)):
                return True
        elif isinstance(node, ast.Call) and _last(node) == "register_parameter" and node.args:
            if isinstance(node.args[0], ast.Constant) and node.args[0].value == attribute:
                return True
    return False


def _last(call: ast.Call) -> str:
    return dotted_name(call.func).rpartition(".")[2]
