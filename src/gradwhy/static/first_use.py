"""Where a name is used first after it was bound: what must be so by then goes before it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal, TypeAlias

from gradwhy.findings import Edit
from gradwhy.source.slicing import bound_names, called, names_read, targets
from gradwhy.source.text import SourceText
from gradwhy.static.leaves import inserted, with_suffix
from gradwhy.static.remedy import Written
from gradwhy.static.rewrites import indent_of

How: TypeAlias = Literal["assigned", "loop", "parameter"]
_BLOCKS = ("body", "orelse", "finalbody")
# What gives no tensor that could be flagged.
_NO_TENSORS = frozenset({
    "list", "tuple", "dict", "set", "filter", "map", "zip", "sorted", "reversed", "next", "iter", "enumerate", "range",
    "parameters", "named_parameters", "children", "modules", "size", "len", "float", "int", "item", "numpy", "tolist",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Use:
    """How a name got its value in a function, and the first statement after that which reads it."""

    how: How
    binding: ast.AST
    first: ast.stmt | None


def binds(statement: ast.AST, name: str) -> bool:
    return name in {bound for target in targets(statement) for bound in bound_names(target)}


def _binds_inside(statement: ast.AST, name: str) -> bool:
    return any(binds(node, name) for node in ast.walk(statement))


def use_before(source: SourceText, statement: ast.stmt, name: str) -> Use | None:
    """How ``name`` was bound before a statement of the same function, None where that depends on branches."""
    first: ast.stmt | None = None
    here: ast.stmt = statement
    while True:
        block = source.block(here)
        for earlier in reversed(block[: block.index(here)] if here in block else []):
            if binds(earlier, name) and isinstance(earlier, (ast.Assign, ast.AnnAssign)):
                return Use("assigned", earlier, first)
            if _binds_inside(earlier, name):
                return None
            if name in names_read(earlier):
                first = earlier
        parent = source.parents.get(here)
        if isinstance(parent, (ast.For, ast.AsyncFor)) and binds(parent, name):
            return Use("loop", parent, first)
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            arguments = parent.args
            named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            return Use("parameter", parent, first) if name in {a.arg for a in named} else None
        if not isinstance(parent, ast.stmt) or isinstance(parent, ast.ClassDef):
            return None
        if isinstance(parent, (ast.With, ast.AsyncWith)) and binds(parent, name):
            return None
        here = parent


def flagged_before_use(where: Written, statement: ast.stmt, name: str, depth: int = 3) -> list[Edit]:
    """The edits after which ``name`` requires grad in ``statement`` and all that is computed from it before.

    Where the name is an argument that is only passed on, its only caller is changed. [] where that isn't sure.
    """
    source = where.source
    use = use_before(source, statement, name) if name.isidentifier() else None
    if use is None or depth == 0 or _written_in_place(source, statement, name):
        return []
    if use.first is not None:
        if use.how == "assigned":
            return _on_value(where, use.binding)
        text = f"{name}.requires_grad_(True)" if use.how == "loop" else f"{name} = {name}.detach().requires_grad_(True)"
        return on_line_before(where, use.first, text)
    if use.how != "parameter":
        return []
    assert isinstance(use.binding, (ast.FunctionDef, ast.AsyncFunctionDef))
    call, given = only_caller(source, use.binding, name)
    caller = source.statement(call) if call is not None else None
    if caller is None or not isinstance(given, ast.Name):
        return []
    return flagged_before_use(where, caller, given.id, depth - 1)


def _on_value(where: Written, binding: ast.AST) -> list[Edit]:
    value = getattr(binding, "value", None)
    single = isinstance(binding, ast.AnnAssign) or (
        isinstance(binding, ast.Assign) and len(binding.targets) == 1 and isinstance(binding.targets[0], ast.Name)
    )
    if not single or not isinstance(value, (ast.Call, ast.BinOp, ast.Subscript)) or called(value) in _NO_TENSORS:
        return []
    return with_suffix(where, value, ".requires_grad_(True)")


def on_line_before(where: Written, before: ast.stmt, text: str) -> list[Edit]:
    """A new line above a statement; [] where the statement does not begin its line."""
    indent = indent_of(where.source, before.lineno)
    starts_line = where.source.span(before).column == len(indent) + 1
    return [inserted(where, (before.lineno, 1), f"{indent}{text}\n")] if starts_line else []


def only_caller(
    source: SourceText, function: ast.FunctionDef | ast.AsyncFunctionDef, parameter: str
) -> tuple[ast.Call | None, ast.expr | None]:
    """The one call of a function in its file, and what it gives for a parameter; (None, None) where it is not the only one."""
    calls = [n for n in ast.walk(source.tree or ast.Module([], [])) if called(n) == function.name]
    if len(calls) != 1 or not isinstance(calls[0], ast.Call):
        return None, None
    call = calls[0]
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    if isinstance(source.parents.get(function), ast.ClassDef) and isinstance(call.func, ast.Attribute):
        static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in function.decorator_list)
        names = names if static else names[1:]
    by_name = next((k.value for k in call.keywords if k.arg == parameter), None)
    if by_name is not None:
        return call, by_name
    index = names.index(parameter) if parameter in names else len(call.args)
    if index >= len(call.args) or any(isinstance(a, ast.Starred) for a in call.args[: index + 1]):
        return None, None
    return call, call.args[index]


def _written_in_place(source: SourceText, statement: ast.stmt, name: str) -> bool:
    """Whether the function changes the tensor in place or hands it to NumPy: a leaf that requires grad refuses both."""
    scope = source.function(statement) or source.tree
    for node in ast.walk(scope) if scope is not None else ():
        if isinstance(node, ast.AugAssign) and name in bound_names(node.target):
            return True
        if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Subscript) and name in bound_names(t) for t in node.targets
        ):
            return True
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ):
            attribute = node.func.attr
            in_place = attribute.endswith("_") and attribute not in ("requires_grad_", "retain_grad_")
            if node.func.value.id == name and (in_place or attribute == "numpy"):
                return True
    return False
