"""Where the user's classes make the parts of a module, and where they read them again: from the source alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from gradwhy.runtime.account import Place
from gradwhy.runtime.sites import Site, is_user_file, located
from gradwhy.source.slicing import names_read
from gradwhy.source.text import SourceText

_PREPARING = ("__init__", "__post_init__", "setup", "build")
_ADDING = ("add_module", "register_module", "register_parameter", "setattr")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def walk(root: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(path, module) of a module and those inside it, each path; the user's own methods are not called."""
    stack: list[tuple[str, Any]] = [(path, root)]
    steps = 0
    while stack and steps < 20_000:
        steps += 1
        name, module = stack.pop()
        yield name, module
        inner = [(f"{name}.{key}" if name else key, part) for key, part in module._modules.items() if part is not None]
        stack.extend(reversed(inner))


def part(root: Any, path: str) -> Any:
    """The module or parameter at a path such as "body.1.norm", None where there is none."""
    held = root
    for name in path.split(".") if path else ():
        if not issubclass(type(held), torch.nn.Module):
            return None
        held = held._modules.get(name, held._parameters.get(name))
    return held


@dataclass(frozen=True, slots=True)
class UserClass:
    """A class of the user's, as it stands in its file."""

    source: SourceText
    node: ast.ClassDef

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        yield from (each for each in self.node.body if isinstance(each, _FUNCTIONS))


def classes_of(module: Any) -> list[UserClass]:
    """The classes of a module that are the user's, the most derived first."""
    found: list[UserClass] = []
    for kind in type(module).__mro__:
        if kind is torch.nn.Module:
            break
        for value in type.__getattribute__(kind, "__dict__").values():
            code = getattr(getattr(value, "__wrapped__", value), "__code__", None)
            if code is None or not is_user_file(code.co_filename):
                continue
            source = Site(code, 0).source
            function = source.function_at(code.co_firstlineno, code.co_name) if source is not None else None
            outer = source.parents.get(function) if source is not None and function is not None else None
            if source is not None and isinstance(outer, ast.ClassDef) and outer.name == kind.__name__:
                found.append(UserClass(source, outer))
                break
    return found


def _self(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    arguments = [*function.args.posonlyargs, *function.args.args]
    return arguments[0].arg if arguments else ""


def made(root: Any, path: str) -> tuple[Place, str] | None:
    """(the statement that makes the part at ``path``, the path that it makes as a whole).

    A part of a library's class, or an element of a container, belongs to the statement of the user's class that made the whole.
    """
    names = path.split(".")
    for length in range(len(names), 0, -1):
        owner, attribute = part(root, ".".join(names[: length - 1])), names[length - 1]
        for each in classes_of(owner) if owner is not None else ():
            statement = _statement(each, attribute)
            if statement is not None:
                element = _element(statement, owner, attribute, names[length:])
                node = element if element is not None else statement
                whole = ".".join(names[: length + (element is not None)])
                return Place(located(each.source, node), each.source.segment(node)), whole
    return None


def set_outside(path: str, sources: list[SourceText]) -> Place | None:
    """The one statement that sets the attribute from outside its class: ``model.aux = nn.Linear(4, 4)``."""
    attribute = path.rpartition(".")[2]
    found: list[Place] = []
    for source in sources:
        for node in ast.walk(source.tree) if source.tree is not None else ():
            targets = node.targets if isinstance(node, ast.Assign) else []
            if any(isinstance(t, ast.Attribute) and t.attr == attribute for t in targets):
                found.append(Place(located(source, node), source.segment(node)))
    return found[0] if len(found) == 1 else None


def _statement(each: UserClass, attribute: str) -> ast.stmt | None:
    """The one statement of a class that sets ``self.attribute``; None where there are several or none."""
    found: list[ast.stmt] = []
    for function in each.functions():
        name = _self(function)
        for node in ast.walk(function):
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                flat = [t for target in targets for t in (target.elts if isinstance(target, ast.Tuple) else [target])]
                if any(_is_attribute(t, name, attribute) for t in flat):
                    found.append(node)
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _adds(node.value, attribute):
                found.append(node)
    made_first = [node for node in found if not _is_none(node)]
    return made_first[0] if len(made_first) == 1 else None


def _is_attribute(node: ast.AST, base: str, attribute: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == attribute and getattr(node.value, "id", None) == base


def _is_none(node: ast.stmt) -> bool:
    value = getattr(node, "value", None)
    return isinstance(value, ast.Constant) and value.value is None


def _adds(call: ast.Call, attribute: str) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name in _ADDING and any(isinstance(a, ast.Constant) and a.value == attribute for a in call.args[:2])


def _element(statement: ast.stmt, owner: Any, attribute: str, rest: list[str]) -> ast.expr | None:
    """The argument of ``nn.Sequential(...)`` or ``nn.ModuleList([...])`` that became the first of ``rest``."""
    value = getattr(statement, "value", None)
    held = owner._modules.get(attribute)
    if (
        not rest
        or not isinstance(value, ast.Call)
        or held is None
        or type(held).__module__ != torch.nn.Sequential.__module__
    ):
        return None
    given = value.args
    if len(given) == 1 and isinstance(given[0], (ast.List, ast.Tuple)):
        given = given[0].elts
    elif len(given) == 1 and isinstance(given[0], ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in given[0].keys]
        return given[0].values[keys.index(rest[0])] if rest[0] in keys else None
    if any(isinstance(each, ast.Starred) for each in given) or len(given) != len(held._modules):
        return None
    index = list(held._modules).index(rest[0]) if rest[0] in held._modules else -1
    return given[index] if index >= 0 else None


@dataclass(frozen=True, slots=True)
class Read:
    """One place where an attribute is read outside the methods that prepare a module."""

    source: SourceText
    node: ast.expr
    function: ast.FunctionDef | ast.AsyncFunctionDef | None

    def tests(self) -> list[ast.expr]:
        """The conditions that it depends on: those of ``if`` around it, and of earlier ones in its function that return."""
        found: list[ast.expr] = []
        inner: ast.AST = self.node
        for outer in self.source.enclosing(self.node):
            if isinstance(outer, (ast.If, ast.IfExp, ast.While)) and inner is not outer.test:
                found.append(outer.test)
            if isinstance(outer, (ast.For, ast.AsyncFor)) and inner is outer.iter:
                found += [each.test for each in ast.walk(outer) if isinstance(each, ast.If) and _leaves(each)]
            if outer is self.function:
                break
            inner = outer
        for each in ast.walk(self.function) if self.function is not None else ():
            if isinstance(each, ast.If) and _leaves(each) and (each.end_lineno or 0) < self.node.lineno:
                found.append(each.test)
        return found

    def is_fixed(self, sources: list[SourceText]) -> bool:
        """Whether what it depends on is set once for the model: ``if self.use_aux``, or an argument that no call gives."""
        tests = self.tests()
        if not tests or any(isinstance(inner, ast.Call) for test in tests for inner in ast.walk(test)):
            return False
        names = {name for test in tests for name in names_read(test)} - {"self"}
        plain = {name for name in names if "." not in name}
        of_self = all(n.startswith("self.") and n != "self.training" for n in names - plain)
        return of_self and all(self._is_never_given(name, sources) for name in plain)

    def _is_never_given(self, name: str, sources: list[SourceText]) -> bool:
        arguments = self.function.args if self.function is not None else None
        if arguments is None:
            return False
        by_place = [*arguments.posonlyargs, *arguments.args]
        with_default = [a.arg for a in by_place[len(by_place) - len(arguments.defaults) :]]
        with_default += [
            a.arg for a, default in zip(arguments.kwonlyargs, arguments.kw_defaults) if default is not None
        ]
        stored = {n.id for n in ast.walk(self.function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}  # type: ignore[arg-type]
        given = {
            keyword.arg
            for source in sources
            for node in (ast.walk(source.tree) if source.tree is not None else ())
            if isinstance(node, ast.Call)
            for keyword in node.keywords
        }
        return name in with_default and name not in stored and name not in given and None not in given

    def constant_part(self) -> ast.Subscript | None:
        """``self.blocks[:3]``: the part of a container that the source picks, the same in each step."""
        outer = self.source.parents.get(self.node)
        if not isinstance(outer, ast.Subscript) or outer.value is not self.node:
            return None
        names = names_read(outer.slice) - {"self"}
        calls = any(isinstance(inner, ast.Call) for inner in ast.walk(outer.slice))
        return outer if not calls and all(n.startswith("self.") for n in names) else None


def _leaves(node: ast.If) -> bool:
    return any(isinstance(inner, (ast.Return, ast.Continue, ast.Break)) for inner in ast.walk(node))


def reads(root: Any, path: str, sources: list[SourceText]) -> list[Read]:
    """Where the attribute that holds the part at ``path`` is read: by its owner's class, or from outside by its name."""
    names = path.split(".")
    found: list[Read] = []
    seen: set[int] = set()
    for length in range(len(names), 0, -1):
        owner, attribute = part(root, ".".join(names[: length - 1])), names[length - 1]
        own = classes_of(owner) if owner is not None else []
        for each in own:
            for function in each.functions():
                if not _prepares(function):
                    found += _reads_in(function, _self(function), attribute, each.source, seen)
        if own:
            for source in {id(s): s for s in (*sources, *(each.source for each in own))}.values():
                for node in ast.walk(source.tree) if source.tree is not None else ():
                    if isinstance(node, ast.Attribute) and node.attr == attribute and isinstance(node.ctx, ast.Load):
                        function_at = source.function(node)
                        outer = function_at if isinstance(function_at, _FUNCTIONS) else None
                        of_self = outer is not None and getattr(node.value, "id", None) == _self(outer)
                        if not of_self and id(node) not in seen and not _is_of_library(node):
                            seen.add(id(node))
                            found.append(Read(source, node, outer))
            break
    return found


def _is_of_library(node: ast.Attribute) -> bool:
    """``nn.norm``, ``torch.head``: a name of a package, not a part of a module."""
    return isinstance(node.value, ast.Name) and node.value.id in ("torch", "nn", "F", "np", "math", "os", "dist")


def _prepares(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    name = function.name.lstrip("_")
    return function.name in _PREPARING or name.startswith(("init", "reset")) or "weights" in name


def _reads_in(
    function: ast.FunctionDef | ast.AsyncFunctionDef, base: str, attribute: str, source: SourceText, seen: set[int]
) -> list[Read]:
    found: list[Read] = []
    for node in ast.walk(function):
        read = _is_attribute(node, base, attribute) and isinstance(getattr(node, "ctx", None), ast.Load)
        by_name = (
            isinstance(node, ast.Call) and getattr(node.func, "id", "") == "getattr"
            and any(isinstance(a, ast.Constant) and a.value == attribute for a in node.args)
        )  # fmt: skip
        if (read or by_name) and isinstance(node, ast.expr) and id(node) not in seen:
            seen.add(id(node))
            found.append(Read(source, node, function))
    return found
