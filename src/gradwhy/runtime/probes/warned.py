"""Warnings of autograd that people overlook: what was warned of, and the line behind it. Nothing is raised."""

from __future__ import annotations

import ast
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from types import FrameType, FunctionType, MethodType
from typing import Any

import torch

from gradwhy.findings import Argument, Code, Evidence, Finding, Fix, Message, Step
from gradwhy.runtime import account, editing, live
from gradwhy.runtime.account import Place
from gradwhy.runtime.ancestry import torch_name
from gradwhy.runtime.failure import Failure, LiveFrame, standing
from gradwhy.runtime.lifetime import made
from gradwhy.runtime.names import Names
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.records import node_of
from gradwhy.runtime.sites import Site, located, user_frame
from gradwhy.runtime.watch import Watch
from gradwhy.source.text import SourceText

SYMPTOM = "warned"
_MOVING = frozenset({"to", "cuda", "cpu", "type", "type_as", "double", "float", "half", "bfloat16", "xpu", "mps"})
_SIZES = re.compile(
    r"target size \(torch\.Size\(\[([\d, ]*)\]\)\) that is different to the input size \(torch\.Size\(\[([\d, ]*)\]\)\)"
)
_CHECKPOINT = "torch/utils/checkpoint.py"


def matches(failure: Failure) -> bool:
    """Nothing is raised: ``hear`` is called for each warning that was issued."""
    return False


def diagnose(situation: Situation) -> list[Finding]:
    return []


def hear(text: str, frame: FrameType, watch: Watch) -> None:
    """What a warning, issued at a frame, comes from: once for each line of the user's."""
    answer = next((answer for said, answer in _ANSWERS if said in text), None)
    user = user_frame(frame)
    if answer is None or user is None or threading.get_ident() != watch.thread:
        return
    key = (answer.__name__, id(user.f_code), user.f_lasti)
    if key in watch.warned:
        return
    with torch._C.DisableTorchFunction(), standing(frame) as failure:
        watch.warned[key] = answer(text, failure, Situation(failure, watch, Names(failure.frames)))


# -- one for each warning


def _not_a_leaf(text: str, failure: Failure, situation: Situation) -> list[Finding]:
    """``.grad`` of a tensor that was computed: the line that computed it."""
    surface = failure.surface
    if surface is None:
        return []
    node, source = surface.site.node(), surface.site.source
    receiver = node.value if isinstance(node, ast.Attribute) else None
    tensor = live.value(receiver, surface) if receiver is not None else None
    name = source.segment(receiver) if receiver is not None and source is not None else ""
    if not isinstance(tensor, torch.Tensor) or tensor.is_leaf:
        # Read in a library, or of something that is not there by name any more.
        place = Place.of(surface.site)
        return _warning(situation, "non-leaf-grad", place, {"name": Code(name or place.text)}, certain=False)
    origin = made(node_of(tensor), situation.watch.recorder) if node_of(tensor) is not None else None
    facts: dict[str, Argument] = {"name": Code(name)}
    read = Step(at=surface.site.location(), note=Message("non-leaf-grad.read", facts))
    if origin is None:
        bound = account.binding(name, situation)
        place = bound or Place.of(surface.site)
        return _warning(situation, "non-leaf-grad", place, facts, steps=[read], certain=bound is not None)
    moved = torch_name(origin.func).rpartition(".")[2] in _MOVING
    place = Place.of(origin.site)
    steps = [Step(at=place.at, op=torch_name(origin.func), note=Message("non-leaf-grad.computed", facts)), read]
    if not moved and origin.outside_forward() != origin.site:
        # An activation inside a model is no leaf and needn't be: where it is kept, or read, its gradient is to be asked for.
        place = _kept_as(receiver, origin.site) or Place.of(surface.site)
    return _warning(
        situation, "to-device-non-leaf" if moved else "non-leaf-grad", place, facts, steps=steps, shared=moved
    )


def _kept_as(receiver: ast.AST | None, site: Site) -> Place | None:
    """Where the function that computed a value assigns it to the attribute that is read: ``self.activation = h``."""
    source, node = site.source, site.node()
    scope = source.function(node) if source is not None and node is not None else None
    name = receiver.attr if isinstance(receiver, ast.Attribute) else ""
    for statement in ast.walk(scope) if scope is not None and name else ():
        if isinstance(statement, ast.Assign) and source is not None:
            if any(isinstance(target, ast.Attribute) and target.attr == name for target in statement.targets):
                return Place(located(source, statement), source.segment(statement))
    return None


def _checkpoint(text: str, failure: Failure, situation: Situation) -> list[Finding]:
    """Harmless where gradients are off, and where nothing inside would train."""
    scope, surface = situation.watch.journal.scope, failure.surface
    if surface is None or (scope is not None and not scope.enables):
        return []
    parameters = _parameters(failure)
    if parameters is not None and not any(parameter.requires_grad for parameter in parameters):
        return []
    place = Place.of(surface.site)
    facts: dict[str, Argument] = {"count": sum(p.requires_grad for p in parameters or ())}
    return _warning(
        situation, "checkpoint-frozen-input", place, facts, shared=True, certain=parameters is not None,
        fixes=_not_reentrant(surface.site),
    )  # fmt: skip


def _parameters(failure: Failure) -> list[Any] | None:
    """Those of the modules that the checkpointed function reaches; None where that can't be told."""
    for each in reversed(failure.frames):
        function = each.frame.f_locals.get("run_function")
        if function is None or not each.site.file.replace("\\", "/").endswith(_CHECKPOINT):
            continue
        held: list[Any] = [function]
        if isinstance(function, MethodType):
            held.append(function.__self__)
        plain = function.__func__ if isinstance(function, MethodType) else function
        if isinstance(plain, FunctionType):
            for cell in plain.__closure__ or ():
                try:
                    held.append(cell.cell_contents)
                except ValueError:
                    continue
            held += list(plain.__defaults__ or ())
        modules = [value for value in held if issubclass(type(value), torch.nn.Module)]
        return [p for module in modules for p in torch.nn.Module.parameters(module)] if modules else None
    return None


def _not_reentrant(site: Site) -> tuple[Fix, ...] | None:
    """``use_reentrant=False`` for True, or added."""
    call, source = account.call_at(site), site.source
    if call is None or source is None or not account.called(call).startswith("checkpoint"):
        return None
    given = next((keyword for keyword in call.keywords if keyword.arg == "use_reentrant"), None)
    if given is None:
        edit = editing.also(source, call, "use_reentrant=False")
    elif isinstance(given.value, ast.Constant):
        edit = editing.instead(source, given.value, "False")
    else:
        return None
    return (Fix(title=Message("checkpoint-frozen-input.advice"), applicability="safe", edits=(edit,)),)


def _sizes(text: str, failure: Failure, situation: Situation) -> list[Finding]:
    """The shapes, what they become together, and which dimension is stretched."""
    found, surface = _SIZES.search(text), failure.surface
    if found is None or surface is None:
        return []
    target, given = (tuple(int(size) for size in part.split(",") if size.strip()) for part in (found[1], found[2]))
    padded = _padded(given, target)
    both = tuple(max(pair) for pair in zip(*padded))
    place = Place.of(surface.site)
    call, source = account.call_at(surface.site), surface.site.source
    texts = [source.segment(node) for node in call.args[:2]] if call is not None and source is not None else []
    facts: dict[str, Argument] = {
        "name": Code(texts[0] if texts else "input"),
        "target": Code(texts[1] if len(texts) > 1 else "target"),
        "shape": str(given),
        "target_shape": str(target),
        "result": str(both),
        "dimension": _stretched(given, target),
    }
    evidence = [
        Evidence(kind="tensor", subject=str(texts[0] if texts else "input"), facts={"shape": given}),
        Evidence(kind="tensor", subject=str(texts[1] if len(texts) > 1 else "target"), facts={"shape": target}),
    ]
    fixes = _same_shape(call, source, given, target) if call is not None and source is not None else None
    return _warning(situation, "shape-broadcast", place, facts, evidence=evidence, fixes=fixes)


def _padded(*shapes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Shapes aligned from the right, as torch does."""
    longest = max(len(shape) for shape in shapes)
    return [(1,) * (longest - len(shape)) + shape for shape in shapes]


def _stretched(given: tuple[int, ...], target: tuple[int, ...]) -> int:
    """The last dimension of the result that one of the two doesn't have, or has with size 1."""
    differing = [index for index, (one, other) in enumerate(zip(*_padded(given, target))) if one != other]
    return differing[-1] if differing else 0


def _same_shape(
    call: ast.Call, source: SourceText, given: tuple[int, ...], target: tuple[int, ...]
) -> tuple[Fix, ...] | None:
    """``pred.squeeze(-1)`` where that is all that differs, else ``y.view_as(pred)`` where both have as many entries."""
    if len(call.args) < 2:
        return None
    node, new = call.args[0], ""
    if given and given[-1] == 1 and given[:-1] == target:
        new = ".squeeze(-1)"
    elif target and target[-1] == 1 and target[:-1] == given:
        node, new = call.args[1], ".squeeze(-1)"
    if not new or isinstance(node, ast.Starred):
        return None
    result = editing.operand(source, node) + new
    edit = editing.instead(source, node, result)
    title = Message("shape-broadcast.fix", {"result": Code(result)})
    return (Fix(title=title, applicability="unsafe", edits=(edit,)),)


def _scheduler(text: str, failure: Failure, situation: Situation) -> list[Finding]:
    """The scheduler's line, and the optimizer's after it. A GradScaler that skipped the first step leaves the order right."""
    surface = failure.surface
    if surface is None or any(call.method == "step" for call in situation.watch.scaling.calls):
        return []
    place = Place.of(surface.site)
    later = _optimizer_step(surface)
    facts: dict[str, Argument] = {"name": Code(account.receiver(surface.site) or place.text)}
    steps = []
    fixes = None
    source, node = surface.site.source, surface.site.node()
    if later is not None and source is not None:
        at = located(source, later)
        steps.append(Step(at=at, note=Message("scheduler-before-optimizer.later")))
        mine = source.statement(node) if node is not None else None
        if isinstance(mine, ast.Expr) and source.parents.get(mine) is source.parents.get(later):
            edits = tuple(editing.instead(source, a, source.segment(b)) for a, b in ((mine, later), (later, mine)))
            fixes = (Fix(title=Message("scheduler-before-optimizer.advice"), applicability="safe", edits=edits),)
    return _warning(situation, "scheduler-before-optimizer", place, facts, steps=[*steps], fixes=fixes)


def _optimizer_step(surface: LiveFrame) -> ast.Expr | None:
    """The first statement after the line, in the same function, that steps something of another name."""
    source, node = surface.site.source, surface.site.node()
    scope = source.function(node) or source.tree if source is not None and node is not None else None
    for inner in ast.walk(scope) if scope is not None else ():
        value = inner.value if isinstance(inner, ast.Expr) else None
        if isinstance(inner, ast.Expr) and isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            if value.func.attr == "step" and inner.lineno > surface.site.line:
                held = live.value(value.func.value, surface)
                if issubclass(type(held), torch.optim.Optimizer):
                    return inner
    return None


NOT_A_LEAF = "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed"
SIZES = "that is different to the input size"
_ANSWERS: tuple[tuple[str, Callable[[str, Failure, Situation], list[Finding]]], ...] = (
    (NOT_A_LEAF, _not_a_leaf),
    ("None of the inputs have requires_grad=True. Gradients will be None", _checkpoint),
    (SIZES, _sizes),
    ("Detected call of `lr_scheduler.step()` before `optimizer.step()`", _scheduler),
)


def _warning(
    situation: Situation,
    cause: str,
    place: Place,
    facts: dict[str, Argument],
    *,
    shared: bool = False,
    **details: Any,
) -> list[Finding]:
    """``shared`` for a cause that other symptoms have as well: its sentences for a warning are the symptom's."""
    found = account.finding(situation, SYMPTOM, cause, place.at, place.text, facts=facts, severity="warning", **details)
    if not shared:
        return [found]
    filled = dict(found.message.args)
    advice = Fix(title=Message(f"{SYMPTOM}.{cause}-advice", filled), applicability="display")
    return [replace(found, message=Message(f"{SYMPTOM}.{cause}", filled), fixes=details.get("fixes") or (advice,))]
