"""A custom ``autograd.Function`` that a transform can't use: the class, or its ``forward``."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any

from gradwhy.findings import Argument, Code, Finding, Location, Message, Step
from gradwhy.runtime import transforms
from gradwhy.runtime.account import Place
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.sites import Site, display_path, is_user_file
from gradwhy.runtime.transformed import around, told


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
    place = Place.of(surface.site)
    if code is not None and is_user_file(code.co_filename):
        place = transforms.definition(code) or place
        if not of_forward:
            place = _class_line(Site(code, 0), function.__name__) or place
    return told(situation, cause, place, facts=facts, steps=[*around(situation), used])


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


def _class_line(site: Site, name: str) -> Place | None:
    source = site.source
    for node in ast.walk(source.tree) if source is not None and source.tree is not None else ():
        if isinstance(node, ast.ClassDef) and node.name == name and source is not None:
            return Place(Location(file=display_path(source.path), line=node.lineno), source.line(node.lineno).strip())
    return None
