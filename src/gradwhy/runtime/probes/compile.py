"""Failures that only ``torch.compile`` has: second derivatives, values given up for backward, autograd calls inside."""

from __future__ import annotations

import ast
import re

from gradwhy.findings import Argument, Code, Edit, Finding, Fix, Location, Message, Step
from gradwhy.runtime import account, editing, graph
from gradwhy.runtime.account import Place
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.quoted import users_lines
from gradwhy.runtime.sites import Site, located
from gradwhy.source import text
from gradwhy.source.slicing import dotted_name

SYMPTOM = "compile"
_TWICE = "does not currently support double backward"
_DONATED = "compiled with non-empty donated buffers"
# The first lines of what Dynamo says of autograd (torch/_dynamo/variables), and what it passes on from there.
_INSIDE = re.compile(
    r"Unsupported Tensor\.(?:backward|requires_grad_)\(\) call|torch\.autograd\.grad|autograd\.grad (?:with|consumed)|"
    r"setattr\(\) on Tensor\.requires_grad|requires_grad_?\b|Tensor\.retain_grad\(\)|Tensor with grad_fn|"
    r"backwards? hooks|custom jvp|autograd\.Function"
)
_LEAF = "a leaf Variable that requires grad is being used in an in-place operation"
_KEEPS = ("retain_graph", "create_graph")


def matches(failure: Failure) -> bool:
    if not isinstance(failure.error, RuntimeError):
        return False
    if _TWICE in failure.text or _DONATED in failure.text:
        return True
    first = failure.text.partition("\n")[0]
    return _is_dynamos(failure) and bool(_INSIDE.search(first) or _LEAF in failure.text)


def diagnose(situation: Situation) -> list[Finding]:
    failure = situation.failure
    if _TWICE in failure.text:
        return _second_derivative(situation)
    if _DONATED in failure.text:
        return _given_up(situation)
    return _inside(situation)


def _is_dynamos(failure: Failure) -> bool:
    return type(failure.error).__module__.startswith("torch._dynamo")


# -- a second derivative, or values that were given up


def _second_derivative(situation: Situation) -> list[Finding]:
    compiled, certain = _compiled(situation)
    if compiled is None:
        return []
    place, name = compiled
    facts: dict[str, Argument] = {"name": Code(name)}
    steps = [Step(at=place.at, note=Message("compiled-double-backward.compiled", facts))]
    first = _first_derivative(situation)
    if first is not None:
        steps.append(account.station(first, Message("compiled-double-backward.first", facts)))
    return [
        account.finding(
            situation, SYMPTOM, "compiled-double-backward", place.at, place.text, facts=facts, steps=steps,
            fixes=_uncompiled(place, "compiled-double-backward", facts), certain=certain,
        )
    ]  # fmt: skip


def _given_up(situation: Situation) -> list[Finding]:
    compiled, certain = _compiled(situation)
    surface = situation.failure.surface
    if compiled is None or surface is None:
        return []
    place, name = compiled
    facts: dict[str, Argument] = {"name": Code(name), "keeps": Code(_asked_to_keep(surface.site))}
    steps = [Step(at=place.at, note=Message("donated-buffer-kept.compiled", facts))]
    began = min((call.start for call in situation.watch.compiling.calls), default=0)
    earlier = [each for each in situation.watch.journal.passes if not each.kept and each.chain and each.upto >= began]
    if earlier:
        steps.append(account.station(earlier[0].chain[0], Message("donated-buffer-kept.given-up", facts)))
    return [
        account.finding(
            situation, SYMPTOM, "donated-buffer-kept", place.at, place.text, facts=facts, steps=steps,
            fixes=_uncompiled(place, "donated-buffer-kept", facts), certain=certain,
        )
    ]  # fmt: skip


def _compiled(situation: Situation) -> tuple[tuple[Place, str] | None, bool]:
    """Where the code behind the failing graph was compiled, and what; certain where nothing else comes into question."""
    compiling = situation.watch.compiling
    walk = graph.nodes(situation.failure.differentiated() or [])
    numbers = [graph.number_of(node) for node in walk if "CompiledFunction" in node.name()]
    behind = {call.asked for call in compiling.calls for number in numbers if call.start <= number < call.end}
    called = behind or {call.asked for call in compiling.calls} or set(compiling.asked)
    chosen = [asked for asked in compiling.asked if asked in called]
    if not chosen:
        return None, False
    site = chosen[-1][0]
    return (Place.of(site), _what(site)), len(chosen) == 1


def _what(site: Site) -> str:
    """What the user gave to ``torch.compile``: its argument, the function under the decorator, or the owner of ``.compile()``."""
    node, source = site.node(), site.source
    if node is None or source is None:
        return "function"
    for outer in source.enclosing(node):
        if node in getattr(outer, "decorator_list", ()):
            return str(getattr(outer, "name", ""))
    if not isinstance(node, ast.Call):
        return source.segment(node)
    given = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "model"), None)
    if given is None and isinstance(node.func, ast.Attribute):
        given = node.func.value
    return source.segment(given) if given is not None else source.segment(node)


def _first_derivative(situation: Situation) -> Site | None:
    """The pass before this one that kept its graph: what this one differentiates."""
    passes = [each for each in situation.watch.journal.passes if each.kept and each.chain]
    return passes[-1].chain[0] if passes else None


def _asked_to_keep(site: Site) -> str:
    call = account.call_at(site)
    keywords = [k for k in call.keywords if k.arg in _KEEPS] if call is not None else []
    source = site.source
    return source.segment(keywords[0]) if keywords and source is not None else "retain_graph=True"


def _uncompiled(place: Place, cause: str, facts: dict[str, Argument]) -> tuple[Fix, ...]:
    """Without ``torch.compile`` the same is computed."""
    advice = Fix(title=Message(f"{cause}.advice", facts), applicability="display")
    source = text.read(place.at.file)
    edit = _without(source, place.at) if source is not None else None
    if edit is None:
        return (advice,)
    return Fix(title=Message(f"{cause}.fix", facts), applicability="safe", edits=(edit,)), advice


def _without(source: text.SourceText, at: Location) -> Edit | None:
    """What ``torch.compile`` was given takes its place; a decorator's line, or that of ``model.compile()``, goes."""
    node = next((n for n in ast.walk(source.tree) if _stands(n, at, source)), None) if source.tree is not None else None
    if node is None:
        return None
    outer = source.parents.get(node)
    if node in getattr(outer, "decorator_list", ()):
        return editing.without_lines(source, node)
    if isinstance(node, ast.Call) and dotted_name(node.func) == "torch.compile" and node.args:
        return editing.instead(source, node, editing.operand(source, node.args[0]))
    block = source.parents.get(outer) if outer is not None else None
    if isinstance(outer, ast.Expr) and outer in getattr(block, "body", ()) and len(getattr(block, "body", ())) > 1:
        return editing.without_lines(source, outer)
    return None


def _stands(node: ast.AST, at: Location, source: text.SourceText) -> bool:
    return isinstance(node, ast.expr) and node.lineno == at.line and located(source, node, at.function) == at


# -- autograd calls in the code that is compiled


def _inside(situation: Situation) -> list[Finding]:
    """Dynamo names the line itself, after "from user code"."""
    place = next(users_lines(situation.failure.text.partition("from user code")[2]), None)
    if place is None:
        return _somewhere_inside(situation)
    if _LEAF in situation.failure.text:
        name = place.text.partition(".")[0]
        facts: dict[str, Argument] = {"name": Code(name)}
        return [
            account.finding(
                situation, SYMPTOM, "inplace-op", place.at, place.text, facts=facts, headline="headline-leaf",
                advice="advice-leaf", steps=[Step(at=place.at, note=Message("inplace-op.written-leaf", facts))],
            )
        ]  # fmt: skip
    compiled, _ = _compiled(situation)
    facts = {"name": Code(compiled[1] if compiled is not None else "the function")}
    steps = [Step(at=place.at, note=Message("autograd-call-compiled.called", facts))]
    if compiled is not None:
        steps.insert(0, Step(at=compiled[0].at, note=Message("autograd-call-compiled.compiled", facts)))
    return [
        account.finding(
            situation, SYMPTOM, "autograd-call-compiled", place.at, place.text, facts=facts, steps=steps,
        )
    ]  # fmt: skip


def _somewhere_inside(situation: Situation) -> list[Finding]:
    """Where Dynamo names no line: what is compiled."""
    compiled, certain = _compiled(situation)
    if compiled is None:
        return []
    place, name = compiled
    facts: dict[str, Argument] = {"name": Code(name)}
    steps = [Step(at=place.at, note=Message("autograd-call-compiled.compiled", facts))]
    return [
        account.finding(
            situation, SYMPTOM, "autograd-call-compiled", place.at, place.text, facts=facts, headline="headline-unknown",
            steps=steps, certain=certain,
        )
    ]  # fmt: skip
