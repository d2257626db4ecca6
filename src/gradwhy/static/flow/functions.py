"""Defining and calling: functions, methods, classes, lambdas, generators and context managers of the file."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from gradwhy.static.flow import declared, layers, library, methods
from gradwhy.static.flow.frames import Frame
from gradwhy.static.flow.histories import MAYBE, NO, UNKNOWN_FLOW, Fields, Flow, GradMode, Value
from gradwhy.static.flow.joining import element, join_all
from gradwhy.static.flow.values import (
    NONE,
    Bound,
    Class,
    Const,
    Function,
    Instance,
    Layer,
    Library,
    Mapping,
    Method,
    Partial,
    Seq,
    Tensor,
    Unknown,
    plain,
)

if TYPE_CHECKING:
    from gradwhy.static.flow.run import Run

DEPTH = 24
SELF = 5
"""How often a function may be inside itself."""


class Spread(Value):
    """``*values`` of a length that isn't known: each of the remaining places may get ``value``."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


class Pending(Value):
    """A context manager that is a generator of the file, called and not yet entered."""

    __slots__ = ("args", "function", "keywords", "mode", "node")

    def __init__(
        self, function: Function, args: list[Value], keywords: dict[str, Value], node: ast.AST, mode: GradMode
    ) -> None:
        self.function = function
        self.args = args
        self.keywords = keywords
        self.node = node
        self.mode = mode

    def run(self, r: Run, inside: Callable[[Value], None]) -> None:
        """Runs the generator; ``inside`` is called where it yields."""
        call_function(r, self.function, self.args, self.keywords, self.node, inside)


# -- definitions


# -- calls


def call(r: Run, function: Value, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    """The result of calling any value."""
    function = plain(function)
    if isinstance(function, Function):
        return call_function(r, function, args, keywords, node)
    if isinstance(function, Bound):
        return call(r, function.function, [function.receiver, *args], keywords, node)
    if isinstance(function, Library):
        return library.call(r, function.path, args, keywords, node)
    if isinstance(function, Method):
        return methods.call(r, function.receiver, function.name, args, keywords, node)
    if isinstance(function, Layer):
        return layers.call_layer(r, function, args, keywords, node)
    if isinstance(function, Instance):
        return call_instance(r, function, args, keywords, node)
    if isinstance(function, Class):
        return instantiate(r, function, args, keywords, node)
    if isinstance(function, Partial):
        return call(r, function.function, [*function.args, *args], {**function.keywords, **keywords}, node)
    if isinstance(function, GradMode):
        return _wrapped(function, args, node)
    for name in ("__call__", "forward"):
        known = declared.call_method(r, function, name, args, keywords, node)
        if known is not None:
            return known
    for value in (*args, *keywords.values()):
        layers.escape(r, value)
    return Unknown(node)


def _wrapped(mode: GradMode, args: list[Value], node: ast.AST) -> Value:
    """``torch.no_grad()(f)``."""
    inner = plain(args[0]) if args else None
    if not isinstance(inner, Function):
        return Unknown(node)
    function = Function(inner.node, inner.scopes, inner.name)
    function.cls, function.defaults, function.static = inner.cls, inner.defaults, inner.static
    function.modes = (GradMode(mode.on, mode.cause, mode.at, mode.frame), *inner.modes)
    return function


def call_instance(r: Run, value: Instance, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    found = value.cls.find("__call__") or (value.cls.find("forward") if value.is_module else None)
    if found is None:
        if value.is_module:
            return methods.base_forward(r, value, args, keywords, node)
        for given in args:
            layers.escape(r, given)
        return Unknown(node)
    result = call(r, found[0], [value, *args], keywords, node)
    hooks = value.f.get("#hooks")
    for hook in hooks if isinstance(hooks, tuple) else ():
        call(r, hook, [value, Seq(args, kind="tuple"), result], {}, node)
    if value.is_module:
        layers.note_evaluation(r, value, args, keywords, result, node)
    return blurred(result) if "#escaped" in value.f else result


def blurred(value: Value, depth: int = 3) -> Value:
    """What a module gives whose parts may have been replaced out of sight."""
    value = plain(value)
    if isinstance(value, Tensor) and value.flow.grad == NO:
        return Tensor(Flow("join", MAYBE, value.flow.at, value.flow.frame, (value.flow, UNKNOWN_FLOW)), made=value.made)
    if isinstance(value, Seq) and depth:
        rest = blurred(value.rest, depth - 1) if value.rest is not None else None
        return Seq([blurred(item, depth - 1) for item in value.items], rest, value.kind, value.fields)
    if isinstance(value, Mapping) and depth:
        rest = blurred(value.rest, depth - 1) if value.rest is not None else None
        return Mapping({key: blurred(item, depth - 1) for key, item in value.items.items()}, rest)
    return value


def instantiate(r: Run, cls: Class, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    if cls.base == "torch.autograd.Function":
        return Unknown(node)
    value = Instance(cls, node)
    found = cls.find("__init__")
    if found is not None:
        call(r, found[0], [value, *args], keywords, node)
    elif value.is_module:
        methods.base_init(r, value, cls.base, args, keywords, node)
    else:
        names = [
            s.target.id
            for c in _lineage(cls)
            for s in c.node.body
            if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
        ]
        for name, given in zip(names, args):
            value.f[name] = given
        for name, given in keywords.items():
            value.f[name] = given
        after = cls.find("__post_init__")
        if after is not None:
            call(r, after[0], [value], {}, node)
    return value


def _lineage(cls: Class) -> list[Class]:
    return [*(c for base in cls.bases for c in _lineage(base)), cls]


def call_function(
    r: Run,
    function: Function,
    args: list[Value],
    keywords: dict[str, Value],
    node: ast.AST,
    on_yield: Callable[[Value], None] | None = None,
) -> Value:
    """Runs the body of a function with the given arguments, and gives what it returns."""
    body = function.node
    if function.manager and on_yield is None:
        return Pending(function, args, keywords, node, r.mode)
    if len(r.active) >= DEPTH or r.active.count(body) >= SELF:
        for value in (*args, *keywords.values()):
            layers.escape(r, value)
        return Unknown(node)
    r.called.add(id(body))
    env: Fields = {}
    frame = Frame(function.name, env, (env, *function.scopes), r.frame, node, r.trail.mark)
    frame.cls, frame.node, frame.on_yield = function.cls, body, on_yield
    _bind(function, args, keywords, env)
    frame.receiver = args[0] if args else None
    outer, r.frame = r.frame, frame
    current = r.current
    before = r.mode
    r.active.append(body)
    try:
        for mode in function.modes:
            r.write(r.state, "mode", mode)
        if isinstance(body, ast.Lambda):
            result = r.evaluate(body.body)
        else:
            dead = r.block(body.body)  # type: ignore[attr-defined]
            result = _outcome(r, frame, dead)
    finally:
        r.active.pop()
        r.frame = outer
        r.current = current
    if function.modes:
        r.write(r.state, "mode", before)
    if frame.yields:
        made = Seq((), join_all(frame.yields), "generator")
        if frame.yield_mode is not None and before.on != frame.yield_mode.on:
            made.f["#mode"] = frame.yield_mode
        return made
    return result


def _outcome(r: Run, frame: Frame, dead: bool) -> Value:
    """The joined result and state of all ways out of a function."""
    if not frame.returns:
        return Unknown() if dead else NONE
    if dead and len(frame.returns) == 1 and frame.returns[0][0] is None:
        return frame.returns[0][1]
    # A return that left the state as it is was the last thing to happen.
    outcomes = [changes if changes is not None else r.trail.changes(frame.mark) for changes, _ in frame.returns]
    values = [value for _, value in frame.returns]
    if not dead:
        outcomes.append(r.trail.changes(frame.mark))
        values.append(NONE)
    r.trail.undo(frame.mark)
    r.trail.apply_joined(outcomes, frame.born)
    return join_all(values)


def _bind(function: Function, args: list[Value], keywords: dict[str, Value], env: Fields) -> None:
    spec: ast.arguments = function.node.args  # type: ignore[attr-defined]
    names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    spread = next((value for value in args if isinstance(value, Spread)), None)
    given = [value for value in args if not isinstance(value, Spread)]
    loose = keywords.get("**")
    for name, value in zip(names, given):
        env[name] = value
    for name in (*names[len(given) :], *(arg.arg for arg in spec.kwonlyargs)):
        if name in keywords:
            env[name] = keywords[name]
        elif spread is not None and name in names:
            env[name] = spread.value
        elif loose is not None:
            env[name] = Unknown()
        else:
            env[name] = function.defaults.get(name, Unknown())
    if spec.vararg is not None:
        env[spec.vararg.arg] = Seq(given[len(names) :], spread.value if spread is not None else None, "tuple")
    if spec.kwarg is not None:
        known = {*names, *(arg.arg for arg in spec.kwonlyargs), "**"}
        env[spec.kwarg.arg] = Mapping({k: v for k, v in keywords.items() if k not in known}, loose)


def arguments(r: Run, node: ast.Call) -> tuple[list[Value], dict[str, Value]]:
    """The evaluated arguments of a call."""
    args: list[Value] = []
    for arg in node.args:
        if isinstance(arg, ast.Starred):
            value = plain(r.evaluate(arg.value))
            if isinstance(value, Layer):
                value = layers.contents(value)
            if isinstance(value, Seq):
                args.extend(value.items)
                if value.rest is not None:
                    args.append(Spread(value.rest))
            elif isinstance(value, Const) and isinstance(value.value, tuple):
                args.extend(Const(part) for part in value.value)
            else:
                from gradwhy.static.flow.iterating import item_of

                args.append(Spread(item_of(r, value, arg)))
        else:
            args.append(r.evaluate(arg))
    keywords: dict[str, Value] = {}
    for keyword in node.keywords:
        value = r.evaluate(keyword.value)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        elif isinstance(value, Mapping) and value.rest is None:
            keywords.update({str(key): part for key, part in value.items.items()})
        else:
            keywords["**"] = (
                element(Seq(tuple(value.items.values()), value.rest)) if isinstance(value, Mapping) else Unknown()
            )
    return args, keywords


def call_method(
    r: Run, receiver: Value, name: str, args: list[Value], keywords: dict[str, Value], node: ast.AST
) -> Value:
    """``receiver.name(...)`` for an object whose class is in this file."""
    return methods.call(r, receiver, name, args, keywords, node)


def anything(function: Function, bound: bool = False) -> list[Value]:
    """Arguments that could be anything, as many as a function takes by place."""
    spec: ast.arguments = function.node.args  # type: ignore[attr-defined]
    return [Unknown() for _ in range(len(spec.posonlyargs) + len(spec.args) - bound)]


def run_alone(r: Run, function: Function) -> None:
    """A function that nothing in the file calls, with arguments that could be anything."""
    spec: ast.arguments = function.node.args  # type: ignore[attr-defined]
    args: list[Value] = []
    if function.cls is not None and function.static != "staticmethod":
        args.append(function.cls if function.static == "classmethod" else stand_in(r, function.cls))
    count = len(spec.posonlyargs) + len(spec.args)
    args += [Unknown() for _ in range(count - len(args))]
    keywords: dict[str, Value] = {arg.arg: Unknown() for arg in spec.kwonlyargs}
    call_function(r, function, args, keywords, function.node, (lambda value: None) if function.manager else None)


def stand_in(r: Run, cls: Class) -> Instance:
    """An object of a class, made with arguments that could be anything."""
    value = Instance(cls, cls.node)
    found = cls.find("__init__")
    if found is not None and isinstance(found[0], Function):
        spec: ast.arguments = found[0].node.args  # type: ignore[attr-defined]
        count = len(spec.posonlyargs) + len(spec.args)
        call_function(r, found[0], [value, *(Unknown() for _ in range(count - 1))], {"**": Unknown()}, cls.node)
    return value
