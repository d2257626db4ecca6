"""The values that ``def`` and ``class`` bind, decorators included."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gradwhy.static.flow import library
from gradwhy.static.flow.frames import Frame
from gradwhy.static.flow.histories import Fields, GradMode, Value
from gradwhy.static.flow.values import (
    Bound,
    Class,
    Function,
    Library,
    Partial,
    Unknown,
    plain,
)

if TYPE_CHECKING:
    from gradwhy.static.flow.run import Run

_TRANSPARENT = frozenset({
    "functools.wraps", "functools.lru_cache", "functools.cache", "torch.compile", "torch.jit.script", "torch.jit.ignore",
    "torch.jit.export", "torch.compiler.disable", "typing.overload", "typing.override", "typing.no_type_check",
    "abc.abstractmethod",
    "dataclasses.dataclass", "torch.amp.autocast", "torch.autocast", "torch.cuda.amp.autocast", "typing.final",
    "torch.amp.custom_fwd", "torch.cuda.amp.custom_fwd", "functools.total_ordering", "enum.unique",
})  # fmt: skip


_MANAGERS = frozenset({"contextlib.contextmanager", "contextlib.asynccontextmanager"})


def define(r: Run, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Value:
    """The value that a ``def`` binds."""
    owner = r.frame.cls if isinstance(r.frame.cls, Class) and r.frame.env is r.frame.cls.f else None
    prefix = f"{owner.name}." if owner is not None else f"{r.frame.name}.<locals>." if r.frame.name else ""
    scopes = r.frame.scopes[1:] if owner is not None else r.frame.scopes
    function = Function(node, scopes, prefix + node.name)
    function.cls = owner
    set_defaults(r, function, node.args)
    if function.scopes[-1] is r.module:
        r.functions.setdefault(id(node), function)
    value: Value = function
    for decorator in reversed(node.decorator_list):
        value = _decorated(r, value, decorator)
    return value


def set_defaults(r: Run, function: Function, args: ast.arguments) -> None:
    places = [*args.posonlyargs, *args.args]
    for arg, default in zip(places[len(places) - len(args.defaults) :], args.defaults):
        function.defaults[arg.arg] = r.evaluate(default)
    for arg, given in zip(args.kwonlyargs, args.kw_defaults):
        if given is not None:
            function.defaults[arg.arg] = r.evaluate(given)


def _decorated(r: Run, value: Value, decorator: ast.expr) -> Value:
    function = value if isinstance(value, Function) else None
    if function is not None and isinstance(decorator, ast.Name) and r.look_up(decorator.id) is None:
        if decorator.id in ("staticmethod", "classmethod"):
            function.static = decorator.id
            return value
        if decorator.id == "property":
            function.prop = True
            return value
    if isinstance(decorator, ast.Attribute) and decorator.attr in ("setter", "deleter", "getter"):
        if function is not None and decorator.attr == "setter" and function.cls is not None:
            r.write(function.cls.f, f"{function.name.rpartition('.')[2]}.setter", function)
            before = function.cls.f.get(function.name.rpartition(".")[2])
            return before if isinstance(before, Value) else value
        return value
    made = plain(r.evaluate(decorator))
    if isinstance(made, GradMode) and function is not None:
        if made.before != "kept":
            r.write(r.state, "mode", made.before)
        function.modes = (GradMode(made.on, made.cause, decorator, _inside(function)), *function.modes)
        return value
    path = made.path if isinstance(made, Library) else ""
    if isinstance(decorator, ast.Call) and not path:
        named = plain(r.evaluate(decorator.func)) if isinstance(decorator.func, (ast.Name, ast.Attribute)) else made
        path = named.path if isinstance(named, Library) else ""
    if function is not None:
        if path in _MANAGERS:
            function.manager = True
            return value
        if path in ("torch.no_grad", "torch.inference_mode", "torch.enable_grad"):
            mode = library.grad_mode(r, path, [], decorator)
            function.modes = (GradMode(mode.on, mode.cause, decorator, _inside(function)), *function.modes)
            return value
        if path in ("functools.cached_property",):
            function.prop = True
            return value
        if path in _TRANSPARENT or path.startswith(("pytest.", "numba.", "click.", "hydra.", "typer.")):
            return value
    if isinstance(made, (Function, Bound, Partial, Class)):
        return plain(r.call(made, [value], {}, decorator))
    return Unknown(decorator)


def _inside(function: Function) -> Frame:
    """The frame that a decorator is told of in: the function that it decorates."""
    return Frame(function.name, {}, (), None, None, 0)


def define_class(r: Run, node: ast.ClassDef) -> Value:
    """The value that a ``class`` binds."""
    bases = [plain(r.evaluate(base)) for base in node.bases if not isinstance(base, ast.Starred)]
    own = tuple(base for base in bases if isinstance(base, Class))
    paths = [base.path for base in bases if isinstance(base, Library)] + [base.base for base in own if base.base]
    if any(isinstance(base, Unknown) for base in bases):
        paths.append("?")
    base = next((path for path in paths if path.startswith("torch.")), paths[0] if paths else "")
    outer = r.frame
    name = f"{outer.name}.<locals>.{node.name}" if outer.name else node.name
    members: Fields = {}
    cls = Class(node, name, own, base, members)
    frame = Frame(outer.name, members, (members, *outer.scopes), outer, None, r.trail.mark)
    frame.cls = cls
    r.frame = frame
    try:
        r.block(node.body)
    finally:
        r.frame = outer
    for decorator in node.decorator_list:
        r.evaluate(decorator)
    return cls
