"""Errors of hooks: registered on a tensor without a path, giving back the wrong thing, or in the way of an in-place write."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradwhy.findings import Argument, Code, Finding, Message, Step
from gradwhy.runtime import account, live, untracked
from gradwhy.runtime.account import Place
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.sites import located
from gradwhy.runtime.writing import switched_on, target
from gradwhy.source.text import SourceText

SYMPTOM = "hook-error"
_NO_GRAD = "cannot register a hook on a tensor that doesn't require gradient"
_VIEW = re.compile(r"Output \d+ of BackwardHookFunction\w* is a view and is being modified inplace")
_RETURNED = re.compile(
    r"hook '(?P<name>[^']+)' has (?:changed the|returned an incorrect)|expected (?:Variable|tuple), but hook returned"
    r"|Backward (?:pre )?hook returned an invalid number|post accumulate grad hooks should return None"
    r"|Backward hook for Modules where no input requires gradient should always return None|can't replace a None gradient"
)
_REGISTERS = re.compile(r"register_(?:full_backward_|backward_|full_backward_pre_|post_accumulate_grad_)?(?:pre)?hook$")


def matches(failure: Failure) -> bool:
    text = failure.text
    found = text.startswith(_NO_GRAD) or _VIEW.search(text) is not None or _RETURNED.search(text) is not None
    return isinstance(failure.error, (RuntimeError, TypeError)) and found


def diagnose(situation: Situation) -> list[Finding]:
    text = situation.failure.text
    if text.startswith(_NO_GRAD):
        return _without_path(situation)
    if _VIEW.search(text) is not None:
        return _written_under_hook(situation)
    return _wrong_return(situation)


def _without_path(situation: Situation) -> list[Finding]:
    surface = situation.failure.surface
    if surface is None:
        return []
    node = account.call_at(surface.site)
    tensor = live.value(node.func.value, surface) if node is not None and isinstance(node.func, ast.Attribute) else None
    if tensor is None:
        tensor = next((t for t in live.library_tensors(situation.failure) if not t.requires_grad), None)
    if tensor is None:
        return []
    name = account.receiver(surface.site) or "the tensor"
    facts: dict[str, Argument] = {"name": Code(name), "index": 0, "of": 1}
    why = untracked.reason(tensor, situation)
    record = situation.watch.recorder.record_of(tensor)
    steps: list[Step] = []
    if why is not None:
        cause, place, certain = why.cause, why.place, why.certain
        if why.opened is not None:
            steps.append(Step(at=why.opened, note=Message(f"{cause}.opened")))
    else:
        cause, certain = "requires_grad-missing", record is not None
        place = Place.of(record.site) if record is not None and record.site is not None else Place.of(surface.site)
    if record is not None and record.site is not None:
        steps.append(account.station(record.site, Message("input-no-grad.made", facts)))
    steps.append(Step(at=surface.site.location(), note=Message(f"{SYMPTOM}.registered", facts)))
    return [
        account.finding(
            situation,
            SYMPTOM,
            cause,
            place.at,
            place.text,
            headline="headline-entry",
            advice="advice-entry",
            facts=facts,
            steps=steps,
            evidence=[account.seen(name, tensor)],
            certain=certain,
        )
    ]


def _written_under_hook(situation: Situation) -> list[Finding]:
    surface = situation.failure.surface
    if surface is None:
        return []
    place = switched_on(surface) or Place.of(surface.site)
    written = target(surface, situation)
    facts: dict[str, Argument] = {
        "name": Code(written[0] if written is not None else account.receiver(surface.site) or "the output")
    }
    step = Step(at=surface.site.location(), note=Message("inplace-op.written-hook", facts))
    return [
        account.finding(
            situation,
            SYMPTOM,
            "inplace-op",
            place.at,
            place.text,
            headline="headline-hook",
            advice="advice-hook",
            facts=facts,
            steps=[step],
        )
    ]


def _wrong_return(situation: Situation) -> list[Finding]:
    """The hook's own ``return``: torch names the hook, or there is just one registered whose value can be wrong."""
    found = _RETURNED.search(situation.failure.text)
    wanted = (found["name"] or "").rpartition(".")[2] if found is not None else ""
    returns: list[tuple[SourceText, ast.AST, str]] = []
    seen: set[str] = set()
    for frame in situation.failure.user_frames:
        source = frame.site.source
        if source is not None and source.path not in seen:
            seen.add(source.path)
            returns += [(source, value, name) for value, name in _given_back(source, wanted)]
    if len(returns) != 1:
        return []
    source, value, name = returns[0]
    place = Place(located(source, value), source.segment(value))
    facts: dict[str, Argument] = {"hook": Code(name)}
    return [
        account.finding(
            situation,
            SYMPTOM,
            "hook-return",
            place.at,
            place.text,
            facts=facts,
            certain=bool(wanted),
            steps=[Step(at=place.at, note=Message("hook-return.returned", facts))],
        )
    ]


def _given_back(source: SourceText, wanted: str) -> Iterator[tuple[ast.AST, str]]:
    """(what it gives back, the hook's name) for each hook that is registered in a file and gives something back."""
    tree = source.tree
    if tree is None:
        return
    functions = {n.name: n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not _REGISTERS.search(account.called(call)) or not call.args:
            continue
        hook = call.args[0]
        if isinstance(hook, ast.Call):
            # A hook made by a function: partial(f, ...) or make_hook(name).
            hook = hook.args[0] if account.called(hook) == "partial" and hook.args else hook.func
        if isinstance(hook, ast.Lambda):
            if wanted in ("", "<lambda>"):
                yield hook.body, "lambda"
            continue
        name = hook.attr if isinstance(hook, ast.Attribute) else getattr(hook, "id", "")
        function = functions.get(wanted or name) or functions.get(name)
        for statement in ast.walk(function) if function is not None else ():
            if isinstance(statement, ast.Return) and statement.value is not None:
                if isinstance(statement.value, ast.Name) and statement.value.id in functions:
                    continue
                yield statement.value, name
