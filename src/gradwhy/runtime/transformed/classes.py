"""A custom ``autograd.Function`` that a transform can't use: the class, or its ``forward``."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any

from gradwhy.findings import Argument, Code, Edit, Finding, Fix, Location, Message, Step
from gradwhy.runtime import transforms
from gradwhy.runtime.account import Place
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.sites import Site, display_path, is_user_file
from gradwhy.runtime.transformed import around, told
from gradwhy.source.text import SourceText


def context(situation: Situation) -> list[Finding]:
    """``forward(ctx, ...)`` does both: a transform needs ``setup_context`` beside it."""
    return _of_class(situation, "setup_context-missing", of_forward=True)


def rule(situation: Situation) -> list[Finding]:
    return _of_class(situation, "vmap-rule-missing", of_forward=False)


def _of_class(situation: Situation, cause: str, of_forward: bool) -> list[Finding]:
    surface = situation.failure.surface
    function = _function(situation)
    if surface is None or function is None:
        return []
    facts: dict[str, Argument] = {"name": Code(function.__name__)}
    used = Step(at=surface.site.location(), note=Message(f"{cause}.used", facts))
    forward = next((vars(kind)["forward"] for kind in function.__mro__ if "forward" in vars(kind)), None)
    plain = getattr(forward, "__func__", forward)
    code = plain.__code__ if isinstance(plain, FunctionType) else None
    place, fixes = Place.of(surface.site), None
    if code is not None and is_user_file(code.co_filename):
        place = transforms.definition(code) or place
        source, definition = Site(code, 0).source, _class(Site(code, 0), function.__name__)
        if not of_forward and definition is not None and source is not None:
            line = definition.lineno
            place = Place(Location(file=display_path(source.path), line=line), source.line(line).strip())
            fixes = _with_rule(definition, source, facts)
    return told(situation, cause, place, facts=facts, steps=[*around(situation), used], fixes=fixes)


def _with_rule(definition: ast.ClassDef, source: SourceText, facts: dict[str, Argument]) -> tuple[Fix, ...] | None:
    """``generate_vmap_rule = True`` as the first statement of the class."""
    body = [
        each for each in definition.body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
    ]
    if not body:
        return None
    decorators = getattr(body[0], "decorator_list", [])
    # A decorator's own node begins after the "@".
    first = source.span(decorators[0] if decorators else body[0])
    column = first.column - 1 if decorators else first.column
    edit = Edit(
        file=display_path(source.path), line=first.line, column=column, end_line=first.line, end_column=column,
        new_text="generate_vmap_rule = True\n\n" + " " * (column - 1),
    )  # fmt: skip
    return (Fix(title=Message("vmap-rule-missing.fix", facts), applicability="safe", edits=(edit,)),)


def _function(situation: Situation) -> Any:
    """The class, from torch's own frames (torch/autograd/function.py, torch/_functorch/autograd_function.py)."""
    for live in reversed(situation.failure.frames):
        file = live.site.file.replace("\\", "/")
        name = "cls" if file.endswith("torch/autograd/function.py") else "autograd_function"
        if file.endswith(("torch/autograd/function.py", "torch/_functorch/autograd_function.py")):
            found = live.frame.f_locals.get(name)
            if isinstance(found, type):
                return found
    return None


def _class(site: Site, name: str) -> ast.ClassDef | None:
    source = site.source
    tree = source.tree if source is not None else None
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)] if tree is not None else []
    return next((node for node in found if node.name == name), None)
