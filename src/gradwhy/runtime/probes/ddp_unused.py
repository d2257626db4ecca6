"""``Expected to have finished reduction in the prior iteration``: which parameters got no gradient, and why."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from gradwhy.findings import Argument, Code, Evidence, Finding, Fix, Message, Step
from gradwhy.runtime import account, feeding, graph, handed_on, module_source, verdict, written
from gradwhy.runtime.account import Place
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.journal import FlagChange
from gradwhy.runtime.lifetime import made
from gradwhy.runtime.module_source import Read
from gradwhy.runtime.patches.parallel import Wrapped, counted
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.records import Record, node_of
from gradwhy.runtime.sites import Site, located
from gradwhy.runtime.state_source import Piece
from gradwhy.source.text import SourceText
from gradwhy.static.remedy import Fault
from gradwhy.static.rewrites import with_keyword

SYMPTOM = "ddp-unused"
_MESSAGE = "Expected to have finished reduction in the prior iteration"
_INDICES = re.compile(r"Parameter indices which did not receive grad for rank \d+: ([\d ]+)")
_DDP_FILE = "/torch/nn/parallel/distributed.py"


def matches(failure: Failure) -> bool:
    return isinstance(failure.error, RuntimeError) and _MESSAGE in failure.text


@dataclass(frozen=True, slots=True)
class Group:
    """The largest part of the model all of whose parameters got no gradient. ``path`` is its name within the model."""

    path: str
    parameters: dict[int, str]

    def facts(self) -> dict[str, Argument]:
        return {"name": Code(self.path), "count": len(self.parameters)}


@dataclass(frozen=True, slots=True)
class Scene:
    """What is known of the failing model. ``used``: ids of what the last forward pass used, None where that wasn't seen."""

    model: Any
    wrapped: Wrapped | None
    used: frozenset[int] | None
    reach: dict[str, frozenset[int]]
    """The user's names of live tensors that have a path -> ids of the leaves behind them."""
    loss: Any
    situation: Situation

    @property
    def since(self) -> int:
        """The journal's count when the last forward pass began."""
        if self.wrapped is None:
            return 0
        return self.wrapped.forward.order if self.wrapped.forward is not None else self.wrapped.order


def diagnose(situation: Situation) -> list[Finding]:
    model = failing_model(situation.failure)
    if model is None:
        return []
    scene = _scene(model, situation)
    found = [answer for group in _groups(model, _unused(scene)) if (answer := _answer(group, scene)) is not None]
    ranked = sorted(found, key=lambda pair: (pair[0], pair[1].certainty != "proven"))
    return [finding for _, finding in _each_line_once(ranked)][:4]


def failing_model(failure: Failure) -> Any:
    """The wrapped model whose forward was being entered."""
    for live in reversed(failure.frames):
        if live.site.file.replace("\\", "/").endswith(_DDP_FILE):
            return live.frame.f_locals.get("self")
    return None


def _scene(model: Any, situation: Situation) -> Scene:
    watch = situation.watch
    wrapped = watch.parallel.models.get(model)
    trail = wrapped.forward if wrapped is not None and watch.recorder.operations else None
    roots = set(watch.journal.passes[-1].roots) if watch.journal.passes else set()
    reach: dict[str, frozenset[int]] = {}
    loss = None
    for name, tensor in situation.names.tensors():
        node = node_of(tensor)
        if node is None or len(reach) >= 200:
            continue
        if graph.number_of(node) in roots:
            loss = tensor
        else:
            reach[name] = frozenset(id(leaf) for leaf in graph.leaves(tensor))
    used = frozenset(trail.parameters) if trail is not None else None
    return Scene(model, wrapped, used, reach, loss, situation)


def _unused(scene: Scene) -> dict[int, str]:
    """id -> name of each parameter that torch says got no gradient."""
    found = _INDICES.search(scene.situation.failure.text)
    everything = {
        id(parameter): f"{path}.{name}" if path else name
        for path, module in module_source.walk(scene.model.module)
        for name, parameter in reversed(module._parameters.items())
        if parameter is not None
    }
    order = scene.wrapped.parameters if scene.wrapped is not None else [id(p) for _, p in counted(scene.model)]
    if found is not None:
        ids = [order[int(index)] for index in found[1].split() if int(index) < len(order)]
    else:
        ids = [id(p) for _, p in counted(scene.model) if p.grad is None]
    return {key: everything[key] for key in ids if key in everything}


def _groups(model: Any, unused: dict[int, str]) -> list[Group]:
    trains = {id(p) for _, p in counted(model)} | unused.keys()
    groups: dict[str, Group] = {}
    taken: set[int] = set()
    for path, module in module_source.walk(model.module):
        inside = {
            id(p) for _, each in module_source.walk(module) for p in each._parameters.values() if p is not None
        } & trains
        if path and inside and inside <= unused.keys() and not inside & taken:
            taken |= inside
            groups[path] = Group(path, {key: unused[key] for key in inside})
    groups.update({name: Group(name, {key: name}) for key, name in unused.items() if key not in taken})
    return _by_line(list(groups.values()), model)


def _by_line(groups: list[Group], model: Any) -> list[Group]:
    """Those that one line of a class makes, in several instances of the class or turns of a loop, are one."""
    merged: dict[object, Group] = {}
    for group in groups:
        origin = module_source.made(model.module, group.path)
        key: object = (origin[0].at.file, origin[0].at.line) if origin is not None else group.path
        first = merged.get(key)
        same = first is not None and first.path.rpartition(".")[2] == group.path.rpartition(".")[2]
        if first is not None and same:
            merged[key] = Group(first.path, first.parameters | group.parameters)
        else:
            merged[key if first is None else group.path] = group
    return list(merged.values())


def _answer(group: Group, scene: Scene) -> tuple[int, Finding] | None:
    """(rank, finding): what was seen to be taken away comes before what was never used, and that before a branch."""
    frozen = _frozen_late(group, scene)
    if frozen is not None:
        return 0, frozen
    cut = _cut(group, scene)
    if cut is not None:
        return 1, cut
    if _is_used(group, scene):
        left = _left_out(group, scene)
        return (2, left) if left is not None else _unknown(group, scene)
    return _never_used(group, scene)


def _finding(cause: str, key: str, place: Place, group: Group, scene: Scene, *steps: Step, **options: Any) -> Finding:
    names = sorted(group.parameters.values())
    shown = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
    evidence = [Evidence(kind="parameter", subject=shown, facts={"parameters": len(names), "with a gradient": 0})]
    stations = list(steps)
    wrapped = _wrapping(scene)
    if wrapped is not None and wrapped.at.line != place.at.line:
        stations.append(Step(at=wrapped.at, note=Message("ddp-unused.wrapped")))
    facts = group.facts() | options.pop("facts", {})
    advice = options.pop("advice", f"advice-{key}")
    return account.finding(
        scene.situation, SYMPTOM, cause, place.at, place.text, headline=f"headline-{key}", advice=advice, facts=facts,
        steps=stations, evidence=evidence, **options,
    )  # fmt: skip


def _wrapping(scene: Scene) -> Place | None:
    """The line that wrapped the model."""
    if scene.wrapped is not None and scene.wrapped.chain:
        return Place.of(scene.wrapped.chain[0])
    return None


# -- the reasons


def _frozen_late(group: Group, scene: Scene) -> Finding | None:
    wanted = [p for _, p in _parameters(scene.model) if id(p) in group.parameters]
    if not wanted or any(p.requires_grad for p in wanted):
        return None
    since = scene.wrapped.order if scene.wrapped is not None else 0
    changes: list[FlagChange] = [
        change for change in scene.situation.watch.journal.flags.values()
        if not change.value and change.order > since and change.chain and change.tensors.keys() & group.parameters.keys()
    ]  # fmt: skip
    if not changes:
        return None
    last = max(changes, key=lambda change: change.order)
    return _finding("frozen-part", "wrapped", Place.of(last.chain[0]), group, scene)


def _parameters(model: Any) -> Iterator[tuple[str, Any]]:
    for path, module in module_source.walk(model.module):
        for name, parameter in module._parameters.items():
            if parameter is not None:
                yield f"{path}.{name}", parameter


def _cut(group: Group, scene: Scene) -> Finding | None:
    """The last operation that took what the group made and lost its path, on the way to the loss."""
    recorder = scene.situation.watch.recorder
    lines = feeding.lines_of(scene.loss, recorder) if scene.loss is not None else _lines_since(scene)
    fitting: list[Record] = [
        record for record in recorder.cuts
        if record.order > scene.since and feeding.leaves_of(record) & group.parameters.keys() and feeding.feeds(record, lines)
    ]  # fmt: skip
    if not fitting:
        return None
    record = max(fitting, key=lambda each: (len(feeding.leaves_of(each) & group.parameters.keys()), each.order))
    found = verdict.of_cut(record, scene.situation.watch.journal)
    if found is None:
        return None
    note = Message("ddp-unused.lost", group.facts())
    place = Place(found.at, found.subject)
    lost = Step(at=found.at, after="cut", note=note)
    facts = feeding.facts_of(record)
    seen = scene.loss is not None
    return _finding(found.cause, "entry", place, group, scene, lost, facts=facts, advice="advice", certain=seen)


def _lines_since(scene: Scene) -> list[Site]:
    """The lines that computed something since the last forward pass began, where the loss is gone."""
    watch = scene.situation.watch
    if scene.wrapped is None or not watch.journal.passes:
        return []
    return feeding.lines_between(max(scene.wrapped.started, 0), watch.journal.passes[-1].upto, watch.recorder)


def _is_used(group: Group, scene: Scene) -> bool:
    if scene.used is not None:
        return bool(scene.used & group.parameters.keys())
    return any(leaves & group.parameters.keys() for leaves in scene.reach.values())


def _left_out(group: Group, scene: Scene) -> Finding | None:
    """It was used, and the loss does not depend on what came of it."""
    values = [name for name, leaves in scene.reach.items() if leaves & group.parameters.keys()]
    recorder = scene.situation.watch.recorder
    steps: list[Step] = []
    used = _use(group, scene)
    if used is not None:
        steps.append(account.station(used, Message("ddp-unused.used", group.facts())))
    condition = _condition(used, scene) if used is not None else None
    if condition is not None:
        place = Place(located(condition.source, condition.node), condition.source.segment(condition.node))
        return _finding("module-unused", "conditional", place, group, scene, *steps)
    origin = made(node_of(scene.loss), recorder) if scene.loss is not None else None
    if values and origin is not None:
        facts: dict[str, Argument] = {"value": Code(min(values, key=len))}
        return _finding(
            "module-unused", "output", Place.of(origin.site), group, scene, *steps, facts=facts, certain=False
        )
    if used is not None:
        return _finding("module-unused", "left", Place.of(used), group, scene, certain=not values)
    return None


def _condition(used: Site, scene: Scene) -> Piece | None:
    """The condition under which alone the source lets the loss depend on what was computed at a line."""
    trail = scene.wrapped.forward if scene.wrapped is not None else None
    if trail is None:
        return None
    chain = next((c for c in trail.chains.values() if used in c), trail.chains.get(used.code, ()))
    callers = chain[chain.index(used) + 1 :] if used in chain else chain[1:]
    ways = handed_on.uses(used, callers, scene.situation.failure.user_frames)
    return ways[0][-1] if ways and all(ways) else None


def _use(group: Group, scene: Scene) -> Site | None:
    """The line that called the group: of those on the stack when its first parameter was used, the one in its owner's class."""
    trail = scene.wrapped.forward if scene.wrapped is not None else None
    first = (
        next((trail.parameters[key] for key in group.parameters if key in trail.parameters), None) if trail else None
    )
    if trail is None or first is None:
        return None
    owner = module_source.part(scene.model.module, group.path.rpartition(".")[0])
    names = {each.node.name for each in module_source.classes_of(owner)} if owner is not None else set()
    chain = (first, *trail.chains.get(first.code, ())[1:])
    return next((site for site in chain if site.function.rpartition(".")[0].rpartition(".")[2] in names), first)


def _never_used(group: Group, scene: Scene) -> tuple[int, Finding] | None:
    """No line of the last forward pass used it: nothing ever does, or a branch was not taken."""
    sources = _sources(scene)
    read = module_source.reads(scene.model.module, group.path, sources)
    origin = module_source.made(scene.model.module, group.path)
    place, whole = origin if origin is not None else (module_source.set_outside(group.path, sources), group.path)
    wrapped = _wrapping(scene)
    seen = scene.used is not None
    reached = [each for each in read if _was_run(each, scene)]
    part = next((p for each in reached if (p := each.constant_part()) is not None), None) if len(reached) == 1 else None
    if part is not None and "." in group.path:
        source = reached[0].source
        chosen = Place(located(source, part), source.segment(part))
        return 3, _finding("module-unused", "part", chosen, group, scene, certain=seen)
    fixed = all(each.is_fixed(sources) for each in reached) and not _was_used(group, scene)
    if place is not None and (not reached or fixed):
        facts: dict[str, Argument] = {"name": Code(whole if len(whole) > len(group.path) else group.path)}
        found = _finding("module-unused", "module", place, group, scene, facts=facts, certain=seen and not read)
        fixes = () if reached else _without_unused(wrapped, scene) or ()
        return 3, replace(found, fixes=(*found.fixes, *fixes))
    if wrapped is None:
        return None
    steps = [Step(at=place.at, note=Message("ddp-unused.made", group.facts()))] if place is not None else []
    branches = [each for each in reached if each.tests()]
    if branches:
        at = located(branches[0].source, branches[0].tests()[0])
        steps.append(Step(at=at, note=Message("ddp-unused.branch", group.facts())))
    if not seen:
        return _unknown(group, scene, *steps)
    fixes_of = _without_unused(wrapped, scene)
    return 4, _finding("module-unused", "branch", wrapped, group, scene, *steps, certain=bool(reached), fixes=fixes_of)


def _unknown(group: Group, scene: Scene, *steps: Step) -> tuple[int, Finding] | None:
    """The forward pass was not recorded: the line that makes DDP wait for each gradient is what there is to say."""
    wrapped = _wrapping(scene)
    if wrapped is None:
        return None
    fixes = _without_unused(wrapped, scene)
    return 5, _finding("module-unused", "unknown", wrapped, group, scene, *steps, certain=False, fixes=fixes)


def _was_run(read: Read, scene: Scene) -> bool:
    """Whether the function around a read was executed in the last forward pass, or that isn't known."""
    trail = scene.wrapped.forward if scene.wrapped is not None and scene.used is not None else None
    if trail is None or read.function is None:
        return True
    starts = {read.function.lineno, *(each.lineno for each in read.function.decorator_list)}
    codes = {site.code for chain in trail.chains.values() for site in chain} | trail.chains.keys()
    return any(code.co_name == read.function.name and code.co_firstlineno in starts for code in codes)


def _was_used(group: Group, scene: Scene) -> bool:
    return scene.wrapped is not None and bool(scene.wrapped.ever_used & group.parameters.keys())


def _without_unused(wrapped: Place | None, scene: Scene) -> tuple[Fix, ...] | None:
    """``find_unused_parameters=True`` in the call that wrapped the model."""
    site = scene.wrapped.chain[0] if scene.wrapped is not None and scene.wrapped.chain else None
    call = account.call_at(site) if site is not None else None
    source = site.source if site is not None else None
    if wrapped is None or call is None or source is None:
        return None
    fault = Fault(cause="module-unused", file=wrapped.at.file, source=source, node=call)
    edit = with_keyword(fault, call, "find_unused_parameters", "True")
    return (Fix(title=Message("module-unused.fix-wrapped"), applicability="unsafe", edits=(edit,)),)


def _sources(scene: Scene) -> list[SourceText]:
    """The user's files that are being executed, and those of the model's classes."""
    found: list[SourceText | None] = [*written.sources(scene.situation)]
    kinds = {type(module): module for _, module in module_source.walk(scene.model.module)}
    found += [each.source for module in kinds.values() for each in module_source.classes_of(module)]
    return list({id(source): source for source in found if source is not None}.values())


def _each_line_once(ranked: list[tuple[int, Finding]]) -> list[tuple[int, Finding]]:
    kept: list[tuple[int, Finding]] = []
    for rank, finding in ranked:
        if not any((finding.at, finding.cause) == (other.at, other.cause) for _, other in kept):
            kept.append((rank, finding))
    return kept
