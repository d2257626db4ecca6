"""``optimizer got an empty parameter list``, or empty ``inputs``: which module or list, and why nothing is in it."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator
from types import GeneratorType
from typing import Any

import torch

from gradwhy.findings import Argument, Code, Evidence, Finding, Message, Step
from gradwhy.runtime import account, live
from gradwhy.runtime.account import Place
from gradwhy.runtime.classes import assignments, class_of, class_source
from gradwhy.runtime.failure import Failure, LiveFrame
from gradwhy.runtime.names import attributes_of
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.sites import located
from gradwhy.source.slicing import definitions, dotted_name
from gradwhy.source.text import SourceText

SYMPTOM = "empty-optimizer"
_MESSAGE = "optimizer got an empty parameter list"
_INPUTS = re.compile(r"`inputs` argument to `\w+\(\)` cannot be empty")
_ITERATORS = (GeneratorType, filter, map, zip)


def matches(failure: Failure) -> bool:
    of_inputs = isinstance(failure.error, RuntimeError) and _INPUTS.search(failure.text) is not None
    return of_inputs or (isinstance(failure.error, ValueError) and failure.text.startswith(_MESSAGE))


def diagnose(situation: Situation) -> list[Finding]:
    surface = situation.failure.surface
    given = _given(surface) if surface is not None else None
    if surface is None or given is None:
        return []
    used_up = _used_up(given, surface, situation)
    if used_up is not None:
        return [_told("iterator-used-up", used_up, given, surface, situation)]
    modules = list(_modules(given, surface))
    for name, module in modules:
        parameters = list(module.parameters())
        if not parameters:
            found = unregistered(module)
            facts: dict[str, Argument] = {"name": Code(name), "class": Code(type(module).__name__)}
            place, key = found if found is not None else (Place.of(surface.site), "none")
            return [_told("param-not-registered", place, given, surface, situation, facts, key, found is not None)]
        frozen = [p for p in parameters if not p.requires_grad]
        if len(frozen) == len(parameters):
            ids = {id(p) for p in parameters}
            changes = [
                c for c in situation.watch.journal.flags.values() if not c.value and ids & c.tensors.keys() and c.chain
            ]
            change = max(changes, key=lambda c: c.order, default=None)
            place = Place.of(change.chain[0]) if change is not None else Place.of(surface.site)
            facts = {"name": Code(name), "count": len(frozen)}
            return [_told("frozen-all", place, given, surface, situation, facts, "empty", change is not None)]
    made = _made_inline(given, surface)
    if made is not None:
        found = _slip(made)
        facts = {"name": Code(f"{made.__name__}()"), "class": Code(made.__name__)}
        place, key = found if found is not None else (Place.of(surface.site), "none")
        return [_told("param-not-registered", place, given, surface, situation, facts, key, found is not None)]
    place = _where_filtered(given, surface, situation)
    return [_told("parameter-filter-empty", place, given, surface, situation, certain=bool(modules))]


def _told(
    cause: str,
    place: Place,
    given: ast.AST,
    surface: LiveFrame,
    situation: Situation,
    facts: dict[str, Argument] | None = None,
    key: str = "",
    certain: bool = True,
) -> Finding:
    source = surface.site.source
    text = source.segment(given) if source is not None else ""
    facts = {"given": Code(text), "name": Code(text)} | (facts or {})
    suffix = f"-{key}" if key else ""
    return account.finding(
        situation,
        SYMPTOM,
        cause,
        place.at,
        place.text,
        headline=f"headline{suffix}",
        advice=f"advice{suffix}",
        facts=facts,
        steps=[Step(at=place.at, note=Message(f"{cause}.at{suffix}", facts))],
        evidence=[Evidence(kind="optimizer", subject=text or "parameters", facts={"parameters": 0})],
        certain=certain,
    )


def _given(surface: LiveFrame) -> ast.AST | None:
    """What the optimizer was given, or ``inputs`` of ``grad`` and ``backward``, as it was written."""
    call = account.call_at(surface.site)
    if call is None:
        return None
    place = 1 if account.called(call) == "grad" else 0
    given = (k.value for k in call.keywords if k.arg in ("params", "inputs"))
    return next(given, call.args[place] if len(call.args) > place else None)


def _used_up(given: ast.AST, surface: LiveFrame, situation: Situation) -> Place | None:
    """A generator that somebody has read before."""
    if isinstance(given, ast.Call) and account.called(given) in ("list", "tuple") and len(given.args) == 1:
        given = given.args[0]
    held = live.value(given, surface)
    if not isinstance(held, _ITERATORS) or not isinstance(given, (ast.Name, ast.Attribute)):
        return None
    source = surface.site.source
    text = source.segment(given) if source is not None else ""
    return account.binding(text, situation) or account.assignment(text, surface.site) or Place.of(surface.site)


def _modules(given: ast.AST, surface: LiveFrame) -> Iterator[tuple[str, Any]]:
    """The modules whose parameters were asked for, also where that was on an earlier line of the same function."""
    source = surface.site.source
    nodes = [given]
    if isinstance(given, ast.Name) and source is not None:
        scope = source.function(given) or source.tree
        nodes += [value for names, value, _ in definitions(scope) if given.id in names] if scope is not None else []
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, (ast.Name, ast.Attribute)) and source is not None:
                held = live.value(inner, surface)
                if issubclass(type(held), torch.nn.Module):
                    yield source.segment(inner), held


def _made_inline(given: ast.AST, surface: LiveFrame) -> type | None:
    """``Net`` of ``Net().parameters()``, whole: then nothing was filtered, and the module has none."""
    while isinstance(given, ast.Call) and account.called(given) in ("list", "tuple") and len(given.args) == 1:
        given = given.args[0]
    if (
        not isinstance(given, ast.Call)
        or account.called(given) != "parameters"
        or not isinstance(given.func, ast.Attribute)
    ):
        return None
    owner = given.func.value
    kind = live.value(owner.func, surface) if isinstance(owner, ast.Call) else None
    return kind if isinstance(kind, type) and issubclass(kind, torch.nn.Module) else None


def _slip(kind: type) -> tuple[Place, str] | None:
    """The first assignment to ``self`` in the constructor of a class that keeps modules or a tensor where nobody looks."""
    found = class_source(kind)
    if found is None:
        return None
    source, node = found
    if (misspelt := _misspelt(source, node)) is not None:
        return misspelt
    for statement in [inner for inner in ast.walk(node) if isinstance(inner, ast.Assign)]:
        if any(isinstance(t, ast.Attribute) and dotted_name(t.value) == "self" for t in statement.targets):
            value = statement.value
            plain = isinstance(value, (ast.List, ast.ListComp, ast.Dict, ast.DictComp, ast.Tuple))
            built = isinstance(value, ast.Call) and dotted_name(value.func).startswith("torch.") and not any(
                part[:1].isupper() for part in dotted_name(value.func).split(".")
            )  # fmt: skip
            if plain or built:
                return Place(located(source, value), source.segment(value)), "list" if plain else "tensor"
    return None


def unregistered(module: Any) -> tuple[Place, str] | None:
    """(the line of the module's class that fails to register anything, what kind of slip it is)."""
    found = class_of(module)
    if found is None:
        return None
    source, kind = found
    if (misspelt := _misspelt(source, kind)) is not None:
        return misspelt
    for name, held in (attributes_of(module) or {}).items():
        key = _kept_out(held) if not name.startswith("_") else ""
        value = next(iter(assignments(kind, name)), None) if key else None
        if value is not None:
            return Place(located(source, value), source.segment(value)), key
    return None


def _misspelt(source: SourceText, kind: ast.ClassDef) -> tuple[Place, str] | None:
    methods = [node for node in kind.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    names = [method.name for method in methods]
    near = difflib.get_close_matches("__init__", names, 1, 0.7) if "__init__" not in names else []
    method = next((method for method in methods if near and method.name == near[0]), None)
    return (Place(account.head_of(source, method), source.line(method.lineno).strip()), "misspelt") if method else None


def _kept_out(held: Any) -> str:
    """ "list" for modules in a plain container, "tensor" for a tensor that is no Parameter."""
    items = list(held.values()) if type(held) is dict else list(held) if type(held) in (list, tuple) else []
    if any(issubclass(type(item), torch.nn.Module) or issubclass(type(item), torch.nn.Parameter) for item in items):
        return "list"
    tensors = [held, *items]
    return "tensor" if any(issubclass(type(t), torch.Tensor) and t.is_floating_point() for t in tensors) else ""


def _where_filtered(given: ast.AST, surface: LiveFrame, situation: Situation) -> Place:
    """The expression that picks parameters: the one that was given, or what its name was bound to."""
    source = surface.site.source
    if isinstance(given, ast.Name) and (bound := account.binding(given.id, situation)) is not None:
        return bound
    called = account.called(given) if isinstance(given, ast.Call) else ""
    for function in ast.walk(source.tree) if source is not None and source.tree is not None and called else ():
        if isinstance(function, ast.FunctionDef) and function.name == called:
            tests = [test for node in ast.walk(function) for test in _tests(node)]
            if tests and source is not None:
                return Place(located(source, tests[0]), source.segment(tests[0]))
    at = account.place_of(surface.site, given)
    return Place(at, source.segment(given)) if at is not None and source is not None else Place.of(surface.site)


def _tests(node: ast.AST) -> list[ast.expr]:
    return [node.test] if isinstance(node, ast.If) else node.ifs if isinstance(node, ast.comprehension) else []
