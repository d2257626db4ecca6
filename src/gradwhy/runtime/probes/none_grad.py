"""``'NoneType' object has no attribute ...`` and its kin, where the None is the ``.grad`` of a tensor: whose, and why."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from gradwhy.catalog import render
from gradwhy.findings import Argument, Code, Finding, Message, Step
from gradwhy.runtime import account, gradless, graph, live, untracked, written
from gradwhy.runtime.account import Place
from gradwhy.runtime.failure import Failure, LiveFrame
from gradwhy.runtime.journal import BackwardPass
from gradwhy.runtime.lifetime import made
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.records import node_of
from gradwhy.runtime.sites import Site, located
from gradwhy.source.slicing import bound_names, definitions, names_read, targets

SYMPTOM = "none-grad"


@dataclass(frozen=True, slots=True)
class Read:
    """The expression that reads ``.grad``, and the tensor."""

    node: ast.Attribute
    text: str
    tensor: Any


@dataclass(frozen=True, slots=True)
class _Reason:
    cause: str
    place: Place
    key: str = ""
    steps: tuple[Step, ...] = ()
    certain: bool = True
    facts: dict[str, Argument] = field(default_factory=dict)


def matches(failure: Failure) -> bool:
    return isinstance(failure.error, (AttributeError, TypeError)) and _read(failure) is not None


def diagnose(situation: Situation) -> list[Finding]:
    read, surface = _read(situation.failure), situation.failure.surface
    if read is None or surface is None:
        return []
    name = situation.names.parameters.get(id(read.tensor)) or read.text
    at = account.place_of(surface.site, read.node) or surface.site.location()
    source = surface.site.source
    here = Place(at, source.segment(read.node) if source is not None else "")
    found = _reason(read, name, here, situation)
    if found is None:
        return []
    facts: dict[str, Argument] = {"name": Code(name), "loss": Code("the loss"), "subject": Code(found.place.text)}
    suffix = f"-{found.key}" if found.key and render.has_sentence(f"{found.cause}.headline-{found.key}") else ""
    asked = Step(at=here.at, note=Message("none-grad.read", facts))
    return [
        account.finding(
            situation,
            SYMPTOM,
            found.cause,
            found.place.at,
            found.place.text,
            facts=facts | found.facts,
            headline=f"headline{suffix}",
            advice=f"advice{suffix}",
            steps=[*found.steps, *([] if found.place.at == here.at else [asked])],
            evidence=[account.seen(name, read.tensor, grad=None)],
            certain=found.certain,
        )
    ]


# -- what was read


def _read(failure: Failure) -> Read | None:
    """The ``.grad`` that the failing expression takes directly, where the live frame shows that it is None."""
    surface, error = failure.surface, failure.error
    if surface is None or "NoneType" not in failure.text or getattr(error, "obj", None) is not None:
        return None
    site = surface.site
    node = site.node() or account.statement_of(site)
    for part in _parts(node) if node is not None else ():
        for base, attribute in _grads(part, site):
            tensor = _tensor(base, surface)
            if tensor is not None and _has_none(tensor):
                return Read(attribute, site.source.segment(base) if site.source is not None else "", tensor)
    return None


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The operands of an expression, and itself where it is what failed: in an f-string."""
    yield node
    if isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred, ast.FormattedValue)):
        yield node.value
    elif isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Compare):
        yield from (node.left, *node.comparators)
    elif isinstance(node, ast.AugAssign):
        yield from (node.target, node.value)
    elif isinstance(node, (ast.For, ast.comprehension)):
        yield node.iter
    elif isinstance(node, ast.JoinedStr):
        yield from (part.value for part in node.values if isinstance(part, ast.FormattedValue))
    elif isinstance(node, ast.Call):
        for given in (*node.args, *(keyword.value for keyword in node.keywords)):
            yield from given.elts if isinstance(given, (ast.List, ast.Tuple)) else (given,)


def _grads(part: ast.AST, site: Site) -> Iterator[tuple[ast.expr, ast.Attribute]]:
    """(tensor, ``tensor.grad``) as written: here, in a comprehension, or in the one statement that binds the name."""
    if isinstance(part, ast.Attribute) and part.attr == "grad":
        yield part.value, part
    elif isinstance(part, (ast.ListComp, ast.GeneratorExp)):
        yield from _grads(part.elt, site)
    elif isinstance(part, ast.Name) and site.source is not None and site.source.tree is not None:
        scope = site.source.function(part) or site.source.tree
        values = [value for names, value, _ in definitions(scope) if part.id in names]
        if len(values) == 1 and isinstance(values[0], ast.Attribute):
            yield from _grads(values[0], site)


def _tensor(base: ast.expr, frame: LiveFrame) -> Any:
    """The tensor that an expression stands for; for the variable of a comprehension, the first without a gradient."""
    source = frame.site.source
    for outer in source.enclosing(base) if source is not None else ():
        generators = getattr(outer, "generators", ())
        if isinstance(base, ast.Name) and generators and base.id not in frame.site.code.co_varnames:
            return _of_comprehension(base.id, generators, frame)
    held = live.value(base, frame)
    return held if issubclass(type(held), torch.Tensor) else None


def _of_comprehension(name: str, generators: list[ast.comprehension], frame: LiveFrame) -> Any:
    if len(generators) != 1 or generators[0].ifs:
        return None
    target, held = generators[0].target, live.items(generators[0].iter, frame)
    for item in held if type(held) in (list, tuple) else ():
        if isinstance(target, ast.Tuple) and type(item) is tuple and len(item) == len(target.elts):
            item = next(
                (i for i, part in zip(item, target.elts) if isinstance(part, ast.Name) and part.id == name), None
            )
        if issubclass(type(item), torch.Tensor) and _has_none(item):
            return item
    return None


def _has_none(tensor: Any) -> bool:
    # Reading the .grad of a computed tensor warns, and is None anyway.
    if node_of(tensor) is not None and not tensor.retains_grad:
        return True
    with torch._C.DisableTorchFunctionSubclass():
        return tensor.grad is None


# -- why


def _reason(read: Read, name: str, here: Place, situation: Situation) -> _Reason | None:
    tensor = read.tensor
    node = node_of(tensor)
    if node is not None and not tensor.retains_grad:
        return _computed(node, read, here, situation)
    if not tensor.requires_grad:
        return _without_flag(read, here, situation)
    return _not_filled(tensor, here, situation)


def _computed(node: Any, read: Read, here: Place, situation: Situation) -> _Reason:
    origin = made(node, situation.watch.recorder)
    place = Place.of(origin.site) if origin is not None else account.binding(read.text, situation)
    if place is None:
        return _Reason("non-leaf-grad", here)
    facts: dict[str, Argument] = {"name": Code(read.text)}
    step = Step(at=place.at, note=Message("non-leaf-grad.computed", facts))
    statement = account.statement_of(origin.site) if origin is not None else None
    if isinstance(statement, ast.Assign) and node_of(read.tensor) is not None and origin is not None:
        names = {bound for target in targets(statement) for bound in bound_names(target)}
        source = origin.site.source
        if read.text in names & names_read(statement.value) and source is not None:
            # ``w = w - lr * w.grad``: the name stands for a result of the leaf that it stood for.
            place = Place(located(source, statement), source.segment(statement))
            return _Reason("non-leaf-grad", place, "rebound", (step,))
    return _Reason("non-leaf-grad", place, steps=(step,), certain=origin is not None)


def _without_flag(read: Read, here: Place, situation: Situation) -> _Reason:
    change = untracked.froze(read.tensor, situation)
    if change is not None:
        return _Reason("frozen-part", Place.of(change.chain[0]), "grad")
    why = untracked.reason(read.tensor, situation)
    if why is not None:
        return _Reason(why.cause, why.place, "entry", certain=why.certain)
    record = situation.watch.recorder.record_of(read.tensor)
    site = record.site if record is not None else None
    place = Place.of(site) if site is not None else account.binding(read.text, situation) or here
    return _Reason("requires_grad-missing", place, "entry")


def _not_filled(tensor: Any, here: Place, situation: Situation) -> _Reason | None:
    """A leaf that requires grad: no pass yet, a pass that only gave its results back, cleared since, or left out."""
    watch = situation.watch
    if not watch.was_recording:
        return None
    went = [each for each in watch.journal.passes if each.chain in watch.journal.backward]
    if not went:
        return _without_pass(here, situation)
    last = went[-1]
    backward = account.station(last.chain[0], Message("none-grad.backward")) if last.chain else None
    steps = (backward,) if backward is not None else ()
    for clear in reversed(watch.scaling.cleared):
        if clear.order > last.order and clear.holds({id(tensor)}) and not _keeps_zeros(clear.chain[0]):
            return _Reason("gradients-cleared", Place.of(clear.chain[0]), "read", steps)
    return _left_out(tensor, last, here, situation, steps)


def _without_pass(here: Place, situation: Situation) -> _Reason | None:
    passes = situation.watch.journal.passes
    if passes and passes[-1].chain:
        place = Place.of(passes[-1].chain[0])
        return _Reason("backward-missing", place, "returned")
    return _Reason("backward-missing", here)


def _keeps_zeros(site: Site) -> bool:
    call = account.call_at(site)
    given = [*call.args, *(k.value for k in call.keywords if k.arg == "set_to_none")] if call is not None else []
    return any(isinstance(each, ast.Constant) and each.value is False for each in given)


def _left_out(
    tensor: Any, last: BackwardPass, here: Place, situation: Situation, steps: tuple[Step, ...]
) -> _Reason | None:
    loss = gradless.last_loss(situation)
    reached = loss is not None and any(leaf is tensor for leaf in graph.leaves(loss))
    if reached:
        place = _set_to_none(situation)
        return _Reason("gradients-cleared", place, "read", steps, certain=False) if place is not None else None
    lost = gradless.cut({id(tensor)}, 0, situation, fed_only=True)
    if lost is not None:
        return _Reason(lost.cause, lost.place, "entry", (*lost.steps, *steps), lost.certain)
    return _Reason("module-unused", here, "grad", steps, certain=loss is not None)


def _set_to_none(situation: Situation) -> Place | None:
    """The one line of the user's files that sets a ``.grad`` to None."""
    found = [
        Place(located(source, node), source.segment(node))
        for source in written.sources(situation)
        for node in ast.walk(source.tree or ast.Module([], []))
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value is None
        and any(isinstance(target, ast.Attribute) and target.attr == "grad" for target in node.targets)
    ]  # fmt: skip
    return found[0] if len(found) == 1 else None
