"""Registers what is to be trained: the constructor's name, the container, the Parameter, the base class."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable

from gradwhy.findings import Code, Edit, Fix, Message
from gradwhy.source.slicing import called, dotted_name
from gradwhy.source.text import Span
from gradwhy.static.registering import holds_modules, nn_of, registered
from gradwhy.static.remedy import Fault, replace
from gradwhy.static.rewrites import indent_of

_METHODS_OF_MODULES = frozenset({
    "apply", "buffers", "children", "cpu", "cuda", "double", "eval", "float", "half", "modules", "named_parameters", "parameters",
    "state_dict", "load_state_dict", "to", "train", "type", "zero_grad", "__getattr__", "__setattr__", "__slots__",
})  # fmt: skip


def remedies(fault: Fault) -> Iterable[Fix]:
    node = fault.node
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield from _constructor(fault, node)
    elif isinstance(node, ast.ClassDef):
        yield from _base(fault, node)
    else:
        yield from _held(fault)


def _held(fault: Fault) -> Iterable[Fix]:
    """``self.x = [...]`` -> ``self.x = nn.ModuleList([...])``, ``nn.ParameterList``, ``nn.ModuleDict``, ``nn.Parameter``."""
    statement = fault.source.statement(fault.node)
    nn = nn_of(fault.source)
    if not nn or not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    name = dotted_name(statement.targets[0])
    if name.partition(".")[0] != "self" or name.count(".") != 1:
        return
    edits = registered(fault, statement, name.partition(".")[2], nn)
    if edits:
        title = Message("param-not-registered.fix", {"name": Code(name), "container": Code(_container(edits, nn))})
        yield Fix(title=title, applicability="unsafe", edits=tuple(edits))


def _container(edits: list[Edit], nn: str) -> str:
    texts = [edit.new_text.rstrip("()") for edit in edits if edit.new_text.startswith(nn)]
    return texts[0] if texts else f"{nn}.Parameter"


def _constructor(fault: Fault, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterable[Fix]:
    """``def _init_`` -> ``def __init__``, and the call of the base's constructor with it."""
    source = fault.source
    kind = source.parents.get(function)
    if not isinstance(kind, ast.ClassDef) or not difflib.get_close_matches("__init__", [function.name], 1, 0.7):
        return
    calls = [n for n in ast.walk(function) if isinstance(n, ast.Call) and _is_on_super(n)]
    named = [c for c in calls if called(c) in (function.name, "__init__")]
    if not named:
        return
    line = source.line(function.lineno)
    column = line.index(function.name, source.span(function).column - 1) + 1
    edits = [replace(fault, Span(function.lineno, column, function.lineno, column + len(function.name)), "__init__")]
    edits += [
        replace(fault, call.func, f"{source.segment(call.func.value)}.__init__")
        for call in named
        if called(call) == function.name and isinstance(call.func, ast.Attribute)
    ]
    title = Message("param-not-registered.fix-constructor", {"name": Code(function.name)})
    yield Fix(title=title, applicability="safe", edits=tuple(edits))


def _is_on_super(call: ast.Call) -> bool:
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return called(owner) == "super" or (owner is not None and dotted_name(owner).endswith("Module"))


def _base(fault: Fault, kind: ast.ClassDef) -> Iterable[Fix]:
    """``class Head:`` -> ``class Head(nn.Module):``, with the call of the base's constructor."""
    source, nn = fault.source, nn_of(fault.source)
    constructor = next((n for n in kind.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    names = {n.name for n in kind.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
    if (
        not nn
        or kind.bases
        or kind.keywords
        or kind.decorator_list
        or constructor is None
        or names & _METHODS_OF_MODULES
    ):
        return
    line = source.line(kind.lineno)
    column = line.index(kind.name, source.span(kind).column - 1) + len(kind.name) + 1
    colon = line.find(":", column - 1)
    first = constructor.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(constructor.body) > 1:
        first = constructor.body[1]
    indent = indent_of(source, first.lineno)
    if colon < 0 or source.span(first).column != len(indent) + 1 or any(map(_is_on_super, _calls(constructor))):
        return
    edits = [
        replace(fault, Span(kind.lineno, column, kind.lineno, colon + 1), f"({nn}.Module)"),
        replace(fault, Span(first.lineno, 1, first.lineno, 1), f"{indent}super().__init__()\n"),
    ]
    for statement in [n for n in ast.walk(kind) if isinstance(n, ast.Assign) and len(n.targets) == 1]:
        name = dotted_name(statement.targets[0])
        if name.startswith("self.") and name.count(".") == 1:
            within = registered(fault, statement, name.partition(".")[2], nn)
            if not within and holds_modules(statement.value):
                # A base class alone would leave these unseen.
                return
            edits += within
    title = Message("param-not-registered.fix-base", {"class": Code(kind.name), "base": Code(f"{nn}.Module")})
    yield Fix(title=title, applicability="unsafe", edits=tuple(edits))


def _calls(node: ast.AST) -> list[ast.Call]:
    return [n for n in ast.walk(node) if isinstance(n, ast.Call)]
