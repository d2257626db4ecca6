"""Errors of a ``torch.autograd.Function``: the class, and the line of its ``backward`` or ``forward`` at odds with torch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from types import CodeType
from typing import Any

from gradwhy.findings import Argument, Code, Finding, Message, Step
from gradwhy.runtime import account, graph, live
from gradwhy.runtime.account import Place
from gradwhy.runtime.classes import code_of
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.lifetime import made
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.sites import Site, is_user_file, located
from gradwhy.source import text
from gradwhy.source.slicing import definitions, dotted_name

SYMPTOM = "custom-function"
CAUSE = "custom-backward-wrong"
_COUNT = re.compile(
    r"function (?P<node>\w+)Backward returned an incorrect number of gradients \(expected (?P<want>\d+), got (?P<got>\d+)\)"
)
_SHAPE = re.compile(
    r"Function (?P<node>\w+)Backward returned an invalid gradient at index (?P<index>\d+) - "
    r"(?:got (?P<got>\[[^]]*\]) but expected shape compatible with (?P<want>\[[^]]*\])|expected (?:device|type|layout))"
)
_NOT_NONE = re.compile(
    r"function (?P<node>\w+)Backward returned a gradient different than None at position (?P<place>\d+)"
)
_ONCE = "trying to differentiate twice a function that was marked with @once_differentiable"
_LEGACY = "Legacy autograd function with non-static forward method is deprecated"
_NO_BACKWARD = "You must implement either the backward or vjp method for your custom autograd.Function"
_AT_THE_LINE = re.compile(
    r"save_for_backward can only save variables|mark_dirty can only accept variables"
    r"|mark_non_differentiable only accepts variable"
    r"|Some elements marked as dirty during the forward method were not returned|'\w+Backward' object has no attribute"
    r"|expected Variable or None \(got|An input that has been returned as-is as output is being saved for backward"
    r"|You must implement the forward function for custom autograd\.Function"
    r"|save_for_forward expects all arguments to be tensors|saved_tensors can only be accessed once"
    r"|autograd internal error: \w+ attribute is expected to be a tuple"
    r"|If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more"
)


def matches(failure: Failure) -> bool:
    said = failure.text
    known = any(p.search(said) for p in (_COUNT, _SHAPE, _NOT_NONE, _AT_THE_LINE)) or said.startswith(
        (_ONCE, _LEGACY, _NO_BACKWARD)
    )
    kinds = (RuntimeError, TypeError, AttributeError, AssertionError, NotImplementedError)
    return isinstance(failure.error, kinds) and known


def diagnose(situation: Situation) -> list[Finding]:
    said, surface = situation.failure.text, situation.failure.surface
    if surface is None:
        return []
    if (found := _COUNT.search(said)) is not None:
        facts: dict[str, Argument] = {"want": int(found["want"]), "got": int(found["got"])}
        return _in_backward(found["node"], situation, "count", facts, None)
    if (found := _SHAPE.search(said)) is not None:
        facts = {"want": found["want"] or "", "got": found["got"] or "", "place": int(found["index"])}
        return _in_backward(found["node"], situation, "shape" if found["got"] else "type", facts, int(found["index"]))
    if (found := _NOT_NONE.search(said)) is not None:
        place = int(found["place"]) - 1
        return _in_backward(found["node"], situation, "not-none", {"place": place}, place)
    if said.startswith(_ONCE):
        return _once(situation)
    if said.startswith((_LEGACY, _NO_BACKWARD)):
        return _of_class(situation, "legacy" if said.startswith(_LEGACY) else "missing")
    at = Place.of(surface.site)
    return [_told(situation, at, "line", {"function": Code(_class_at(surface.site))}, [])]


def _told(
    situation: Situation, at: Place, key: str, facts: dict[str, Argument], steps: list[Step], certain: bool = True
) -> Finding:
    note = Step(at=at.at, note=Message(f"{CAUSE}.at-{key}", facts))
    return account.finding(
        situation,
        SYMPTOM,
        CAUSE,
        at.at,
        at.text,
        headline=f"headline-{key}",
        advice=f"advice-{key}",
        facts=facts,
        steps=[*steps, note],
        certain=certain,
    )


def _class_at(site: Site) -> str:
    """The class that a line applies, or whose method the line is in."""
    call = account.call_at(site)
    applied = dotted_name(call.func).rpartition(".") if call is not None else ("", "", "")
    return (applied[0] if applied[2] == "apply" else site.function.rpartition(".")[0]) or "the Function"


def _in_backward(
    node_name: str, situation: Situation, key: str, facts: dict[str, Argument], index: int | None
) -> list[Finding]:
    """The ``return`` of the function's ``backward``, and of several values the one that is wrong."""
    node = _node(node_name, situation)
    code = _method(node, "backward") if node is not None else None
    if node is not None and code is None and (origin := made(node, situation.watch.recorder)) is not None:
        # An operator of torch.library, or a Function of a library: the line that applies it.
        facts = facts | {"function": Code(node_name.removeprefix("GeneratedBackwardFor_"))}
        return [_told(situation, Place.of(origin.site), key, facts, [])]
    if node is None or code is None:
        return []
    source = text.read(code.co_filename)
    function = source.function_at(code.co_firstlineno, code.co_name) if source is not None else None
    if source is None or function is None:
        return []
    facts = facts | {"function": Code(node_name), "plain": _plain_at_the_end(node)}
    returned = [n for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None]
    if not returned:
        return []
    value: ast.AST = returned[-1].value or returned[-1]
    if index is not None and isinstance(value, ast.Tuple) and index < len(value.elts):
        value = value.elts[index]
    if key != "not-none" and isinstance(value, ast.Name):
        bound = [v for names, v, _ in definitions(function) if value.id in names and v.lineno <= returned[-1].lineno]
        value = max(bound, key=lambda v: v.lineno) if bound and index is not None else value
    place = Place(located(source, value), source.segment(value))
    origin = made(node, situation.watch.recorder)
    steps = [account.station(origin.site, Message(f"{CAUSE}.applied", facts))] if origin is not None else []
    return [_told(situation, place, key, facts, steps, certain=len(returned) == 1)]


def _plain_at_the_end(node: Any) -> int:
    """How many of the last inputs of forward need no gradient (``needs_input_grad`` of the context, which is the node)."""
    needs = list(getattr(node, "needs_input_grad", ()))
    return next((i for i, needed in enumerate(reversed(needs)) if needed), len(needs))


def _once(situation: Situation) -> list[Finding]:
    """The class whose ``backward`` is marked: of the graph that is differentiated, else the only one in the failing files."""
    walk = graph.nodes(situation.failure.differentiated() or [])
    marked = [(node, code) for node in walk if _is_marked(node) and (code := _method(node, "backward")) is not None]
    for node, code in marked:
        source = text.read(code.co_filename)
        function = source.function_at(code.co_firstlineno, code.co_name) if source is not None else None
        if source is not None and function is not None and (marks := _marks(function)):
            origin = made(node, situation.watch.recorder)
            facts: dict[str, Argument] = {"function": Code(node.name().removesuffix("Backward"))}
            steps = [account.station(origin.site, Message(f"{CAUSE}.applied", facts))] if origin is not None else []
            return [_told(situation, Place(located(source, marks[0]), source.segment(marks[0])), "once", facts, steps)]
    sources = {
        s.path: s
        for frame in situation.failure.user_frames
        if (s := frame.site.source) is not None and s.tree is not None
    }
    written = [
        (source, kind, marks)
        for source in sources.values()
        for kind in ast.walk(source.tree or ast.Module([], []))
        if isinstance(kind, ast.ClassDef)
        for function in kind.body
        if isinstance(function, ast.FunctionDef) and (marks := _marks(function))
    ]
    if len(written) != 1:
        return []
    source, kind, marks = written[0]
    place = Place(located(source, marks[0]), source.segment(marks[0]))
    return [_told(situation, place, "once", {"function": Code(kind.name)}, [], certain=False)]


def _marks(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    return [mark for mark in function.decorator_list if dotted_name(mark).endswith("once_differentiable")]


def _of_class(situation: Situation, key: str) -> list[Finding]:
    """``forward`` of an old-style class, or the class that lacks a ``backward``: found from what the failing line calls."""
    surface = situation.failure.surface
    call = account.call_at(surface.site) if surface is not None else None
    if surface is None:
        return []
    held = live.value(call.func, surface) if call is not None else None
    kinds = [held if isinstance(held, type) else type(held)] if held is not None else []
    if call is not None and isinstance(call.func, ast.Attribute):
        owner = live.value(call.func.value, surface)
        kinds += [owner] if isinstance(owner, type) else []
    nodes = graph.nodes(situation.failure.differentiated() or []) if not kinds else {}
    kinds += [kind for node in nodes if isinstance(kind := getattr(node, "_forward_cls", None), type)]
    for kind in kinds:
        code = code_of(vars(kind).get("forward"))
        source = text.read(code.co_filename) if code is not None and is_user_file(code.co_filename) else None
        function = (
            source.function_at(code.co_firstlineno, code.co_name) if source is not None and code is not None else None
        )
        if source is None or function is None or code is None:
            continue
        name: dict[str, Argument] = {"function": Code(kind.__name__)}
        at = account.head_of(source, function)
        return [_told(situation, Place(at, source.line(function.lineno).strip()), key, name, [])]
    place = Place.of(surface.site)
    return [_told(situation, place, key, {"function": Code(place.text)}, [], certain=False)]


def _node(name: str, situation: Situation) -> Any:
    nodes: Iterator[Any] = iter(graph.nodes(situation.failure.differentiated() or []))
    return next((node for node in nodes if node.name() == f"{name}Backward" and hasattr(node, "_forward_cls")), None)


def _method(node: Any, name: str) -> CodeType | None:
    """The code of a method of the class behind a custom node, where it is the user's own."""
    kind = getattr(node, "_forward_cls", None)
    code = code_of(vars(kind).get(name)) if isinstance(kind, type) else None
    return code if code is not None and is_user_file(code.co_filename) else None


def _is_marked(node: Any) -> bool:
    kind = getattr(node, "_forward_cls", None)
    method = vars(kind).get("backward") if isinstance(kind, type) else None
    return hasattr(getattr(method, "__func__", method), "__wrapped__")
