"""The source of a live object's class, found through the code of its methods: nothing of the class is run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from gradwhy.runtime.sites import is_user_file
from gradwhy.source import text
from gradwhy.source.text import SourceText


def class_of(held: Any) -> tuple[SourceText, ast.ClassDef] | None:
    """(file, class) of an object, where the user wrote its class in a file that can be read."""
    return class_source(type(held))


def class_source(kind: type) -> tuple[SourceText, ast.ClassDef] | None:
    """(file, class) of a class."""
    for method in vars(kind).values():
        code = code_of(method)
        if code is None or not is_user_file(code.co_filename):
            continue
        source = text.read(code.co_filename)
        function = source.function_at(code.co_firstlineno, code.co_name) if source is not None else None
        node = source.parents.get(function) if source is not None and function is not None else None
        if source is not None and isinstance(node, ast.ClassDef):
            return source, node
    return None


def maker_of(kind: type) -> str:
    """Who wrote a class: "" for the user, "torch", or another package's name, also for a subclass of the user's."""
    found = "torch"
    for base in kind.__mro__:
        code = next(filter(None, map(code_of, vars(base).values())), None)
        file = code.co_filename.replace("\\", "/") if code is not None else ""
        if code is None or "/torch/" in file:
            continue
        if not is_user_file(code.co_filename):
            return base.__module__.partition(".")[0]
        found = ""
    return found


def code_of(method: Any) -> CodeType | None:
    """The code of a function, or of the one behind a static method, a class method or a decorator."""
    function = getattr(method, "__func__", method)
    for _ in range(8):
        function = getattr(function, "__wrapped__", function)
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None


def function_of(method: Any) -> Callable[..., Any]:
    """A class method as a function that takes the class first. ``Function.apply`` is written in C from torch 2.14 on
    (torch/autograd/function.py: ``apply = _C._FunctionBase.__dict__["apply"]``)."""
    inner: Callable[..., Any] | None = getattr(method, "__func__", None)
    if inner is not None:
        return inner
    return lambda cls, *args, **kwargs: method.__get__(None, cls)(*args, **kwargs)


def assignments(kind: ast.ClassDef, name: str) -> Iterator[ast.expr]:
    """What a class assigns to ``self.<name>``."""
    for node in ast.walk(kind):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                parts = target.elts if isinstance(target, ast.Tuple) else [target]
                for place, part in enumerate(parts):
                    if isinstance(part, ast.Attribute) and part.attr == name and isinstance(part.value, ast.Name):
                        split = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                        yield node.value.elts[place] if split and place < len(node.value.elts) else node.value  # type: ignore[attr-defined]
