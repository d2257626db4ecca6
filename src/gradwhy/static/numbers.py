"""Which expressions are numbers, not tensors, as far as a file tells."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradwhy.source.slicing import called, definitions, dotted_name
from gradwhy.source.text import SourceText

_METHODS = frozenset({"item", "tolist", "size", "dim", "numel", "nelement", "index", "count"})
_FUNCTIONS = frozenset({"float", "int", "len", "round", "bool", "str", "time", "perf_counter"})


def is_number(source: SourceText, node: ast.AST, depth: int = 4) -> bool:
    """Whether an expression is surely no tensor; a name is where all that it is bound to in its function are."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            return True
        return dotted_name(node.func).rpartition(".")[2] in _FUNCTIONS
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    if isinstance(node, ast.BinOp):
        return is_number(source, node.left, depth) and is_number(source, node.right, depth)
    if isinstance(node, ast.UnaryOp):
        return is_number(source, node.operand, depth)
    if isinstance(node, ast.Name) and depth:
        scope = source.function(node) or source.tree
        values = [value for bound, value, _ in definitions(scope) if node.id in bound] if scope is not None else []
        return bool(values) and all(is_number(source, value, depth - 1) for value in values)
    return isinstance(node, (ast.JoinedStr, ast.Compare))


def given_for(
    source: SourceText, function: ast.FunctionDef | ast.AsyncFunctionDef, names: set[str]
) -> Iterator[list[ast.expr]]:
    """For each call in the file of a function of this name: what it gives for these parameters."""
    order = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    if isinstance(source.parents.get(function), ast.ClassDef) and order:
        order = order[1:]
    rest = function.args.kwarg.arg if function.args.kwarg is not None else ""
    for call in ast.walk(source.tree or ast.Module([], [])):
        if not isinstance(call, ast.Call) or called(call) != function.name:
            continue
        given = [value for name, value in zip(order, call.args) if name in names]
        given += [k.value for k in call.keywords if k.arg in names or (rest in names and k.arg not in order)]
        yield given
