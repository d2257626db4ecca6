"""Lines inside a transformed function that a transform can't follow, and transforms that were made without what they need."""

from __future__ import annotations

import ast
from typing import Any

from gradwhy.findings import Argument, Code, Finding, Fix, Message, Step
from gradwhy.runtime import account, editing, live, transforms
from gradwhy.runtime.account import Place
from gradwhy.runtime.failure import LiveFrame
from gradwhy.runtime.lifetime import made
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.records import Record, node_of
from gradwhy.runtime.sites import Site, located
from gradwhy.runtime.transformed import around, as_tensor, told
from gradwhy.runtime.transformed.normalization import normalization, without_statistics
from gradwhy.source import text
from gradwhy.source.slicing import bound_names, names_read, targets

_REBUILDS = ("tensor", "as_tensor", "asarray", "Tensor", "FloatTensor")
_CHOICES = ("max", "min", "sorted", "bool", "any", "all")
_ARRAYS = ("numpy", "array", "asarray")
_FACTORIES = frozenset({"zeros", "ones", "empty", "full", "eye", "arange", "tensor", "rand", "randn", "linspace"})
_STORES = ("append", "add", "insert", "extend", "update", "setdefault")


def left_torch(situation: Situation) -> list[Finding]:
    """``.item()``, ``float(x)`` and ``torch.tensor([x])`` ask for one number where there is one for each example."""
    surface = situation.failure.surface
    if surface is None:
        return []
    call = account.call_at(surface.site)
    cause = "tensor-rebuild" if call is not None and account.called(call) in _REBUILDS else "item"
    place = Place.of(surface.site)
    fixes = _without_number(call, surface.site) if call is not None else None
    return told(situation, cause, place, steps=around(situation), as_symptom=cause, fixes=fixes)


def _without_number(call: ast.Call, site: Site) -> tuple[Fix, ...] | None:
    """``x`` for ``x.item()`` and ``float(x)``, ``torch.stack([...])`` for ``torch.tensor([...])``."""
    source, result = site.source, None
    if source is None:
        return None
    if as_tensor(call) is not None:
        result = source.segment(as_tensor(call) or call)
    elif account.called(call) == "tensor" and isinstance(call.func, ast.Attribute) and len(call.args) == 1:
        if isinstance(call.args[0], (ast.List, ast.Tuple)) and not call.keywords:
            result = f"{source.segment(call.func.value)}.stack({source.segment(call.args[0])})"
    if result is None or _decides(source, call) or _outlives(source, call):
        return None
    title = Message("functorch.item-fix", {"result": Code(result)})
    return (Fix(title=title, applicability="unsafe", edits=(editing.instead(source, call, result),)),)


def _decides(source: text.SourceText, call: ast.Call) -> bool:
    """Whether what comes of a call is compared or chosen by: a tensor can't be, where there is one value for each example."""
    statement, scope = source.statement(call), source.function(call)
    if statement is None or scope is None:
        return False
    names = {name for target in targets(statement) for name in bound_names(target)}
    for node in ast.walk(scope):
        chooses = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CHOICES
        tests = isinstance(node, (ast.Compare, ast.BoolOp))
        asked = node.test if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)) else None
        if (chooses or tests) and (names_read(node) & names or call in ast.walk(node)):
            return True
        if asked is not None and (names_read(asked) & names or call in ast.walk(asked)):
            return True
    return False


def _outlives(source: text.SourceText, call: ast.Call) -> bool:
    """Whether what comes of a call is kept in an object, as in ``log.add(loss.item())``: a tensor there would be the
    transform's own after it has ended."""
    outer = source.parents.get(call)
    stored = isinstance(outer, ast.Call) and isinstance(outer.func, ast.Attribute) and outer.func.attr in _STORES
    kept = targets(source.statement(call) or ast.Pass())
    return stored or any(isinstance(target, (ast.Attribute, ast.Subscript)) for target in kept)


def left_or_branch(situation: Situation) -> list[Finding]:
    """One message for both (aten/src/ATen/functorch/BatchRulesDynamic.cpp): what stands there tells which."""
    surface = situation.failure.surface
    node = surface.site.node() if surface is not None else None
    is_call = isinstance(node, ast.Call) and account.called(node) not in _CHOICES
    return left_torch(situation) if is_call else branch(situation)


def no_memory(situation: Situation) -> list[Finding]:
    """``numpy()`` or ``tolist()`` of a tensor that stands for others, inside a transform or after one."""
    surface = situation.failure.surface
    if surface is None:
        return []
    if not transforms.inside(situation.failure):
        return escaped(situation)
    call = account.call_at(surface.site)
    name = account.called(call) if call is not None else ""
    cause = "item" if name == "tolist" else "numpy-roundtrip" if name in _ARRAYS else ""
    return told(situation, cause, Place.of(surface.site), steps=around(situation), as_symptom=cause) if cause else []


def branch(situation: Situation) -> list[Finding]:
    surface = situation.failure.surface
    return (
        told(situation, "data-dependent-branch", _test(surface), steps=around(situation)) if surface is not None else []
    )


def _test(surface: LiveFrame) -> Place:
    """The condition, where the failing instruction is a whole ``if``."""
    site = surface.site
    place, source, node = Place.of(site), site.source, site.node()
    statement = source.statement_at(site.line) if source is not None and node is None else node
    test = getattr(statement, "test", None)
    if source is not None and isinstance(test, ast.expr):
        return Place(located(source, test), source.segment(test))
    return place


def shape(situation: Situation) -> list[Finding]:
    surface = situation.failure.surface
    if surface is None:
        return []
    return told(situation, "data-dependent-shape", Place.of(surface.site), steps=around(situation))


def random(situation: Situation) -> list[Finding]:
    """The transform decides whether examples share their random numbers; it was not told."""
    surface = situation.failure.surface
    if surface is None:
        return []
    drawn = Place.of(surface.site)
    facts: dict[str, Argument] = {"drawn": Code(drawn.text)}
    steps = [Step(at=drawn.at, note=Message("randomness-unset.drawn", facts))]
    found = [each for each in transforms.transforms(situation.failure) if _asks(each)]
    place = found[-1].made(situation) if found else None
    if place is None:
        return told(situation, "randomness-unset", drawn, facts=facts, steps=around(situation), as_symptom="drawn")
    return told(situation, "randomness-unset", place, facts=facts, steps=steps, fixes=_with_randomness(place, facts))


def _asks(transform: transforms.Transform) -> bool:
    return bool(transforms.value_in(transform, "randomness") == "error")


def _with_randomness(place: Place, facts: dict[str, Argument]) -> tuple[Fix, ...] | None:
    source = text.read(place.at.file)
    for node in ast.walk(source.tree) if source is not None and source.tree is not None else ():
        if isinstance(node, ast.Call) and source is not None and located(source, node) == place.at:
            if transforms.transform_name(node) in ("vmap", "jacfwd"):
                edit = editing.also(source, node, 'randomness="different"')
                return (Fix(title=Message("randomness-unset.fix", facts), applicability="unsafe", edits=(edit,)),)
    return None


def unbatched(situation: Situation) -> list[Finding]:
    """One tensor for all examples, written to with a value for each: the line that made it, where that is in the function."""
    surface = situation.failure.surface
    if surface is None:
        return []
    written = Place.of(surface.site)
    name = account.receiver(surface.site) or written.text
    facts: dict[str, Argument] = {"name": Code(name)}
    steps = [*around(situation), Step(at=written.at, note=Message("functorch.written", facts))]
    factory, source = _factory(name, surface), surface.site.source
    if factory is None or source is None:
        return told(situation, "inplace-op", written, facts=facts, steps=steps, as_symptom="unbatched")
    made_at = Place(located(source, factory), source.segment(factory))
    fixes = _from_input(factory, surface, facts)
    return told(situation, "inplace-op", made_at, facts=facts, steps=steps, as_symptom="unbatched", fixes=fixes)


def _factory(name: str, surface: LiveFrame) -> ast.Call | None:
    """The call in the same function that made what is written to."""
    source = surface.site.source
    for statement in transforms.statements(surface.site.code):
        value = getattr(statement, "value", None)
        bound = [each for target in targets(statement) for each in bound_names(target)]
        if source is not None and name in bound and isinstance(statement, ast.Assign) and isinstance(value, ast.Call):
            if account.called(value) in _FACTORIES:
                return value
    return None


def _from_input(factory: ast.Call, surface: LiveFrame, facts: dict[str, Argument]) -> tuple[Fix, ...] | None:
    """``x.new_zeros(...)`` for ``torch.zeros(...)``, with a tensor of the function that has a value for each example."""
    source, kind = surface.site.source, account.called(factory)
    if kind not in ("zeros", "ones", "empty", "full") or source is None or factory.keywords:
        return None
    values = surface.frame.f_locals
    parameters = surface.site.code.co_varnames[: surface.site.code.co_argcount]
    name = next((name for name in parameters if transforms.is_wrapped(values.get(name))), "")
    if not name:
        return None
    edit = editing.instead(source, factory.func, f"{name}.new_{kind}")
    filled = {**facts, "result": Code(f"{name}.new_{kind}")}
    return (Fix(title=Message("functorch.unbatched-fix", filled), applicability="safe", edits=(edit,)),)


def autograd(situation: Situation) -> list[Finding]:
    """``backward()``, ``requires_grad_()`` and ``torch.autograd.grad`` work on tensors that the transform has replaced."""
    surface = situation.failure.surface
    if surface is None:
        return []
    steps = around(situation)
    asked = situation.failure.differentiated()
    if asked is not None and situation.failure.text.startswith(("element", "One of")):
        # ``autograd.grad`` may well be called on a graph of one's own inside a transform.
        if not any(transforms.is_batched(tensor) for tensor in asked) or _was_cut(asked, situation):
            return []
    return told(situation, "autograd-in-transform", Place.of(surface.site), steps=steps)


def _was_cut(tensors: Any, situation: Situation) -> bool:
    recorder = situation.watch.recorder
    stack: list[Record] = [record for tensor in tensors if (record := recorder.record_of(tensor)) is not None]
    seen: set[int] = set()
    while stack and len(seen) < 10_000:
        record = stack.pop()
        if id(record) not in seen:
            seen.add(id(record))
            if record.is_cut:
                return True
            stack.extend(parent for _, parent in record.parents)
    return False


def data(situation: Situation) -> list[Finding]:
    surface = situation.failure.surface
    if surface is None:
        return []
    return told(
        situation, "data-attribute", Place.of(surface.site), steps=around(situation), as_symptom="data-attribute"
    )


def saved_hooks(situation: Situation) -> list[Finding]:
    surface = situation.failure.surface
    if surface is None:
        return []
    fixes = _called_directly(surface)
    return told(situation, "saved-tensor-hooks", Place.of(surface.site), steps=around(situation), fixes=fixes)


def _called_directly(surface: LiveFrame) -> tuple[Fix, ...] | None:
    """``f(x)`` for ``checkpoint(f, x, ...)``."""
    call, source = account.call_at(surface.site), surface.site.source
    if call is None or source is None or account.called(call) != "checkpoint" or not call.args:
        return None
    given = ", ".join(source.segment(argument) for argument in call.args[1:])
    direct = f"{editing.operand(source, call.args[0])}({given})"
    title = Message("functorch.direct-fix", {"result": Code(direct)})
    return (Fix(title=title, applicability="safe", edits=(editing.instead(source, call, direct),)),)


def captured(situation: Situation) -> list[Finding]:
    """The statistics of a normalization, or another tensor from outside that the function writes to."""
    surface = situation.failure.surface
    if surface is None:
        return []
    place = normalization(situation)
    if place is not None:
        called = Step(at=surface.site.location(), note=Message("batch-norm-statistics.updated"))
        return told(
            situation,
            "batch-norm-statistics",
            place,
            steps=[*around(situation), called],
            fixes=without_statistics(place),
        )
    written = Place.of(surface.site)
    facts: dict[str, Argument] = {"name": Code(account.receiver(surface.site) or written.text)}
    return told(situation, "inplace-op", written, facts=facts, steps=around(situation), as_symptom="captured")


def mapped(situation: Situation) -> list[Finding]:
    """Arguments of different sizes: ``in_dims`` maps over one that is the same for every example, as parameters are."""
    found = transforms.transforms(situation.failure)
    place = found[-1].made(situation) or found[-1].call if found else None
    if place is None:
        return []
    return told(situation, "in_dims-wrong", place, certain=False)


def batched_gradient(situation: Situation) -> list[Finding]:
    surface = situation.failure.surface
    if surface is None:
        return []
    call = account.call_at(surface.site)
    given = next((k.value for k in call.keywords if k.arg == "grad_outputs"), None) if call is not None else None
    if given is None and call is not None and len(call.args) > 2:
        given = call.args[2]
    name = given.id if isinstance(given, ast.Name) else ""
    place = (account.binding(name, situation) if name else None) or Place.of(surface.site)
    tensors = _given(situation, "grads")
    shape = str(account.shape_of(tensors[0])) if tensors else ""
    outputs = situation.failure.differentiated() or []
    wanted = str(account.shape_of(outputs[0])) if outputs else ""
    facts: dict[str, Argument] = {"shape": shape, "wanted": wanted, "name": Code(name or "grad_outputs")}
    return told(situation, "batch-dimension-missing", place, facts=facts)


def _given(situation: Situation, name: str) -> list[Any]:
    for frame in reversed(situation.failure.frames):
        held = frame.frame.f_locals.get(name) if frame.site.code.co_name == "_make_grads" else None
        if isinstance(held, (tuple, list)):
            return [tensor for tensor in held if tensor is not None]
    return []


# -- a tensor that outlives its transform


def escaped(situation: Situation) -> list[Finding]:
    """A tensor of one transform, kept by the user and used after it: the line that stored it."""
    surface = situation.failure.surface
    if surface is None:
        return []
    found = [(name, tensor) for name, tensor in live.operands(surface) if transforms.is_wrapped(tensor)]
    found = found or [(name, tensor) for name, tensor in situation.names.tensors() if transforms.is_wrapped(tensor)]
    if not found:
        return []
    name, tensor = found[0]
    return _of_escaped(name, tensor, situation)


def _of_escaped(name: str, tensor: Any, situation: Situation) -> list[Finding]:
    origin = _made(tensor, situation)
    facts: dict[str, Argument] = {"name": Code(name)}
    if origin is None:
        surface = situation.failure.surface
        return told(situation, "tensor-escaped", Place.of(surface.site), facts=facts) if surface is not None else []
    steps = [account.station(origin, Message("tensor-escaped.made", facts))]
    return told(situation, "tensor-escaped", _stored(origin) or Place.of(origin), facts=facts, steps=steps)


def escaped_loss(situation: Situation) -> list[Finding]:
    """A loss without a path that was computed from such a tensor: its history ended with the transform."""
    recorder = situation.watch.recorder
    tensors = list(situation.failure.differentiated() or [])
    direct = next((tensor for tensor in tensors if transforms.is_wrapped(tensor)), None)
    if direct is not None:
        return _of_escaped(situation.names.variable(direct) or "the tensor", direct, situation)
    stack: list[Record] = [record for each in tensors if (record := recorder.record_of(each)) is not None]
    seen: set[int] = set()
    while stack and len(seen) < 10_000:
        record = stack.pop()
        if id(record) in seen:
            continue
        seen.add(id(record))
        for given in record.inputs:
            tensor = given.reference() if given.reference is not None else None
            if transforms.is_wrapped(tensor):
                name = next((name for name, held in situation.names.tensors() if held is tensor), "the tensor")
                return _of_escaped(name, tensor, situation)
        stack.extend(parent for _, parent in record.parents)
    return []


def _made(tensor: Any, situation: Situation) -> Site | None:
    recorder = situation.watch.recorder
    record = recorder.record_of(tensor)
    if record is not None:
        return record.site
    node = node_of(tensor)
    origin = made(node, recorder) if node is not None else None
    return origin.site if origin is not None else None


def _stored(origin: Site) -> Place | None:
    """The statement of the same function that puts what was made there into something that outlives the call."""
    source = origin.source
    names = set(account.names_bound(origin))
    if source is None or any("." in name for name in names):
        return None
    for statement in transforms.statements(origin.code):
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            call = statement.value
            stores = isinstance(call.func, ast.Attribute) and call.func.attr in _STORES
            if stores and names & {name for argument in call.args for name in names_read(argument)}:
                return Place(located(source, call), source.segment(call))
        if isinstance(statement, ast.Assign) and not isinstance(statement.targets[0], ast.Name):
            if names & names_read(statement.value) and statement.lineno > origin.line:
                return Place(located(source, statement.value), source.segment(statement.value))
    return None
