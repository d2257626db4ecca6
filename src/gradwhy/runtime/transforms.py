"""The ``torch.func`` transform that a failing call is inside of: who called it, where it was made, what it was given."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType, MethodType
from typing import Any

import torch

from gradwhy.findings import Location
from gradwhy.runtime import account
from gradwhy.runtime.account import Place
from gradwhy.runtime.failure import Failure, LiveFrame
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.sites import Site, display_path, is_user_file, located
from gradwhy.source.slicing import dotted_name, targets
from gradwhy.source.text import SourceText

# torch/_functorch has other things as well: functional_call, AOTAutograd.
_FILES = ("apis.py", "eager_transforms.py", "vmap.py", "pyfunctorch.py", "autograd_function.py", "deprecated.py")
NAMES = frozenset(
    {
        "vmap",
        "grad",
        "grad_and_value",
        "jacrev",
        "jacfwd",
        "hessian",
        "vjp",
        "jvp",
        "linearize",
        "jacobian",
        "hvp",
        "vhp",
    }
)


@dataclass(frozen=True, slots=True)
class Transform:
    """One call of a transformed function. ``frames`` are torch's own between the caller and the user's function."""

    caller: LiveFrame
    frames: tuple[LiveFrame, ...]
    function: Any

    @property
    def code(self) -> CodeType | None:
        """The code of the user's function that was transformed."""
        return _code(self.function)

    @property
    def call(self) -> Place:
        return Place.of(self.caller.site)

    def made(self, situation: Situation) -> Place | None:
        """The expression that made the transformed function: ``vmap(f)`` of ``vmap(f)(x)``, of ``g = vmap(f)`` or ``@vmap``."""
        source = self.caller.site.source
        call = account.call_at(self.caller.site)
        if source is None or call is None:
            return None
        for node in _origins(call, source, situation):
            if transform_name(node):
                return Place(located(source, node), source.segment(node))
        return None


def transforms(failure: Failure) -> list[Transform]:
    """The transforms around the failing line, the outermost first."""
    found: list[Transform] = []
    caller: LiveFrame | None = None
    inner: list[LiveFrame] = []
    for live in [*failure.frames, None]:
        if live is not None and not live.is_users:
            inner.append(live)
            continue
        if caller is not None and any(_is_transforms(each) for each in inner):
            found.append(Transform(caller, tuple(inner), _function(inner)))
        caller, inner = live, []
    return found


def inside(failure: Failure) -> bool:
    """Whether the failing line runs inside a transform."""
    return any(_is_functorchs(live) for live in failure.frames)


def value_in(transform: Transform, *names: str) -> Any:
    """A local variable of torch's own frames, the innermost that has one of the names."""
    for live in reversed(transform.frames):
        if _is_transforms(live):
            for name in names:
                if name in live.frame.f_locals:
                    return live.frame.f_locals[name]
    return None


def is_wrapped(tensor: Any) -> bool:
    """Whether a tensor stands for one inside a transform (torch/csrc/functorch/init.cpp)."""
    functorch = torch._C._functorch
    return isinstance(tensor, torch.Tensor) and bool(functorch.is_functorch_wrapped_tensor(tensor))


def is_batched(tensor: Any) -> bool:
    return isinstance(tensor, torch.Tensor) and bool(torch._C._functorch.is_batchedtensor(tensor))


def returned(code: CodeType) -> Iterator[Place]:
    """The values that a function of the user's gives back, in the order of the lines."""
    site = Site(code, 0)
    source, node = site.source, _definition(code)
    if source is None or node is None:
        return
    values = [node.body] if isinstance(node, ast.Lambda) else sorted(_returns(node), key=lambda value: value.lineno)
    for value in values:
        yield Place(located(source, value), source.segment(value))


def definition(code: CodeType) -> Place | None:
    """The line that begins a function."""
    source, node = Site(code, 0).source, _definition(code)
    if source is None or node is None:
        return None
    if isinstance(node, ast.Lambda):
        return Place(located(source, node), source.segment(node))
    function = located(source, node).function
    return Place(
        Location(file=display_path(source.path), line=node.lineno, function=function), source.line(node.lineno).strip()
    )


def statements(code: CodeType) -> Iterator[ast.stmt]:
    """The statements of a function, those of functions inside it left out."""
    node = _definition(code)
    stack: list[ast.AST] = list(node.body) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else []
    while stack:
        inner = stack.pop(0)
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if isinstance(inner, ast.stmt):
            yield inner
        stack.extend(ast.iter_child_nodes(inner))


def _is_transforms(live: LiveFrame) -> bool:
    """``torch.autograd.functional`` takes a function as well, but gives it tensors of the ordinary kind."""
    return _is_functorchs(live) or live.site.file.replace("\\", "/").endswith("torch/autograd/functional.py")


def _is_functorchs(live: LiveFrame) -> bool:
    folder, _, file = live.site.file.replace("\\", "/").rpartition("/")
    return folder.endswith("/_functorch") and file in _FILES


def _function(frames: list[LiveFrame]) -> Any:
    """What the innermost transform was given that the user wrote."""
    for live in reversed(frames):
        given = live.frame.f_locals.get("func") if _is_transforms(live) else None
        code = _code(given)
        if code is not None and is_user_file(code.co_filename):
            return given
    return None


def _code(function: Any) -> CodeType | None:
    """The code behind a function, a bound method, a ``partial`` or a module; nothing of the user's is called."""
    for _ in range(16):
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, MethodType):
            function = function.__func__
        elif isinstance(function, FunctionType) and "__wrapped__" in function.__dict__:
            function = function.__dict__["__wrapped__"]
        elif isinstance(function, FunctionType):
            return function.__code__
        elif isinstance(function, torch.nn.Module):
            function = type(function).forward
        else:
            return None
    return None


def _definition(code: CodeType) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None:
    source = Site(code, 0).source
    if source is None or source.tree is None:
        return None
    if code.co_name != "<lambda>":
        return source.function_at(code.co_firstlineno, code.co_name)
    lambdas = [n for n in ast.walk(source.tree) if isinstance(n, ast.Lambda) and n.lineno == code.co_firstlineno]
    names = code.co_varnames[: code.co_argcount]
    alike = [node for node in lambdas if tuple(argument.arg for argument in node.args.args) == names]
    return alike[0] if len(alike) == 1 else None


def _returns(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value
        stack.extend(ast.iter_child_nodes(node))


# -- where a transformed function was made


def _origins(call: ast.Call, source: SourceText, situation: Situation) -> Iterator[ast.AST]:
    """What a call may be applied to: the function expression, what it is bound to, a decorator."""
    if transform_name(call):
        # ``vjp(f, x)`` and ``jvp(f, ...)`` apply at once.
        yield call
    function = call.func
    if isinstance(function, ast.Call):
        yield function
    name = dotted_name(function)
    if source.tree is None or not name:
        return
    last = name.rpartition(".")[2]
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == last:
            yield from node.decorator_list
    for node in ast.walk(source.tree):
        bound = [t.attr if isinstance(t, ast.Attribute) else getattr(t, "id", "") for t in targets(node)]
        if last in bound and getattr(node, "value", None) is not None:
            yield node.value  # type: ignore[attr-defined]
        if isinstance(node, ast.keyword) and node.arg == last:
            yield node.value
    # Given to a function under another name, or kept in a container: the one transform of the file.
    made = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call) and transform_name(node)]
    inner = {id(part) for node in made for part in ast.walk(node) if part is not node}
    outer = [node for node in made if id(node) not in inner]
    if len(outer) == 1:
        yield outer[0]


def transform_name(node: ast.AST) -> str:
    """ "vmap" of ``vmap(...)``, ``torch.func.vmap``, ``partial(vmap, ...)``; "" for what makes no transform."""
    if isinstance(node, ast.Call):
        name = account.called(node)
        if name == "partial" and node.args:
            return transform_name(node.args[0])
    else:
        name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    if name not in NAMES or "autograd.grad" in dotted_name(node.func if isinstance(node, ast.Call) else node):
        return ""
    return name
