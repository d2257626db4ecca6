"""Where in a file a value gets its shape: through names, arguments and what functions give back, as far as that is sure."""

from __future__ import annotations

import ast

from gradwhy.source.slicing import called, targets
from gradwhy.source.text import SourceText

_ELEMENTWISE = frozenset({
    "abs", "clamp", "detach", "exp", "float", "log", "log1p", "neg", "pow", "relu", "sigmoid", "sqrt", "square", "tanh",
})  # fmt: skip
_DEPTH = 6
Function = ast.FunctionDef | ast.AsyncFunctionDef


def named(node: ast.expr) -> ast.Name | None:
    """The one name that an elementwise expression is made of: ``p`` of ``(1 - p).log()``."""
    if isinstance(node, ast.Name):
        return node
    if isinstance(node, ast.UnaryOp):
        return named(node.operand)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ELEMENTWISE:
        return named(node.func.value)
    if isinstance(node, ast.BinOp):
        sides = [side for side in (node.left, node.right) if not isinstance(side, ast.Constant)]
        return named(sides[0]) if len(sides) == 1 else None
    return None


def origin(source: SourceText, node: ast.expr, depth: int = 0) -> tuple[ast.expr, set[ast.Name]] | None:
    """(the expression that makes a value, the names that it goes by on the way), None where that isn't sure."""
    name = named(node)
    if name is None or depth > _DEPTH:
        return None
    scope = source.function(name) or source.tree
    if scope is None or isinstance(scope, ast.Lambda):
        return None
    own = _function(scope)
    uses = {n for n in ast.walk(scope) if isinstance(n, ast.Name) and n.id == name.id and source.function(n) is own}
    found = _bound(source, scope, name.id, depth)
    return (found[0], found[1] | uses) if found is not None else None


def _bound(source: SourceText, scope: ast.AST, name: str, depth: int) -> tuple[ast.expr, set[ast.Name]] | None:
    makers = [
        n
        for n in ast.walk(scope)
        if source.function(n) is _function(scope)
        and any(isinstance(t, ast.Name) and t.id == name for target in targets(n) for t in ast.walk(target))
    ]
    if not makers and isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        given = _argument(source, scope, name)
        return _further(source, given, depth) if given is not None else None
    made = makers[0] if len(makers) == 1 else None
    if not isinstance(made, ast.Assign) or len(made.targets) != 1 or source.function(made) is not _function(scope):
        return None
    target = made.targets[0]
    if isinstance(target, ast.Name):
        return _further(source, made.value, depth)
    if isinstance(target, ast.Tuple) and isinstance(made.value, ast.Call):
        index = next((i for i, t in enumerate(target.elts) if isinstance(t, ast.Name) and t.id == name), None)
        function = _callee(source, made.value)
        returned = _returned(source, function) if function is not None else None
        if index is not None and isinstance(returned, ast.Tuple) and len(returned.elts) == len(target.elts):
            return _further(source, returned.elts[index], depth)
    return None


def _function(scope: ast.AST) -> ast.AST | None:
    return None if isinstance(scope, ast.Module) else scope


def _further(source: SourceText, value: ast.expr, depth: int) -> tuple[ast.expr, set[ast.Name]] | None:
    """The value itself, where it is a call; what a name stands for, where it is one."""
    if isinstance(value, ast.Name):
        return origin(source, value, depth + 1)
    return (value, set()) if isinstance(value, ast.Call) else None


def _argument(source: SourceText, function: Function, name: str) -> ast.expr | None:
    """What the one call of a function passes for a parameter."""
    parameters = [a.arg for a in function.args.args]
    method = bool(parameters) and isinstance(source.parents.get(function), ast.ClassDef)
    found = [call for call in _all_calls(source) if _callee(source, call) is function]
    if name not in parameters or len(found) != 1 or function.decorator_list:
        return None
    place = parameters.index(name) - method
    call = found[0]
    if any(isinstance(given, ast.Starred) for given in call.args):
        return None
    by_name = next((k.value for k in call.keywords if k.arg == name), None)
    return by_name or (call.args[place] if 0 <= place < len(call.args) else None)


def _all_calls(source: SourceText) -> list[ast.Call]:
    return [n for n in ast.walk(source.tree) if isinstance(n, ast.Call)] if source.tree is not None else []


def _callee(source: SourceText, call: ast.Call) -> Function | None:
    """The function of this file that a call runs: by its name, or the ``forward`` of the class its object was made of."""
    assert source.tree is not None
    name = called(call)
    functions = [n for n in ast.walk(source.tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    alike = [f for f in functions if f.name == name]
    if len(alike) == 1:
        return alike[0]
    makers = {
        called(n.value)
        for n in ast.walk(source.tree)
        if isinstance(n, ast.Assign) and any(_last(target) == name for target in n.targets)
    }
    classes = [n for n in ast.walk(source.tree) if isinstance(n, ast.ClassDef) and n.name in makers]
    if alike or len(makers) != 1 or len(classes) != 1:
        return None
    return next((f for f in classes[0].body if isinstance(f, ast.FunctionDef) and f.name == "forward"), None)


def _last(target: ast.expr) -> str:
    return target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")


def _returned(source: SourceText, function: Function) -> ast.expr | None:
    values = [n for n in ast.walk(function) if isinstance(n, ast.Return) and source.function(n) is function]
    return values[0].value if len(values) == 1 else None
