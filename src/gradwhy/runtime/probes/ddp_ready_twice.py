"""``Expected to mark a variable ready only once``: which parameter, and what sent a second gradient to it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from torch.nn.parallel import DistributedDataParallel

from gradwhy.findings import Argument, Code, Evidence, Finding, Fix, Message, Step
from gradwhy.runtime import account, graph, module_source
from gradwhy.runtime.account import Place
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.journal import BackwardPass
from gradwhy.runtime.lifetime import made
from gradwhy.runtime.patches.checkpointing import modules_held
from gradwhy.runtime.patches.parallel import Wrapped, counted
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.sites import Site, located
from gradwhy.static.remedy import Fault
from gradwhy.static.rewrites import with_keyword

SYMPTOM = "ddp-ready-twice"
_MESSAGE = "Expected to mark a variable ready only once"
_PARAMETER = re.compile(r"Parameter at index (\d+)(?: with name (\S+))? has been marked as ready twice")
_REENTRANT = "CheckpointFunctionBackward"


def matches(failure: Failure) -> bool:
    return isinstance(failure.error, RuntimeError) and _MESSAGE in failure.text


def diagnose(situation: Situation) -> list[Finding]:
    found = _PARAMETER.search(situation.failure.text)
    surface = situation.failure.surface
    if found is None or surface is None:
        return []
    for model, wrapped in _models(situation):
        name, parameter = _parameter(model, wrapped, int(found[1]), found[2])
        if parameter is not None:
            case = _Case(situation, model, wrapped, name, parameter)
            return case.answer()
    return []


def _models(situation: Situation) -> Iterator[tuple[Any, Wrapped | None]]:
    known = situation.watch.parallel.models
    seen = [module for module in situation.names.modules.values() if issubclass(type(module), DistributedDataParallel)]
    for model in [*seen, *(each for each in known if not any(each is other for other in seen))]:
        yield model, known.get(model)


def _parameter(model: Any, wrapped: Wrapped | None, index: int, name: str | None) -> tuple[str, Any]:
    """(name, parameter) that torch's message tells of."""
    if name is not None:
        # A parameter of the wrapped module itself has a leading dot.
        path = name.lstrip(".")
        return path, module_source.part(model.module, path)
    every = counted(model)
    ids = wrapped.parameters if wrapped is not None else tuple(id(p) for _, p in every)
    return next(((n, p) for n, p in every if index < len(ids) and id(p) == ids[index]), ("", None))


class _Case:
    """One parameter of one wrapped model, and the graph of the pass that failed."""

    def __init__(self, situation: Situation, model: Any, wrapped: Wrapped | None, name: str, parameter: Any) -> None:
        self.situation = situation
        self.model = model
        self.wrapped = wrapped
        self.name = name
        self.parameter = parameter
        self.walk = graph.nodes(_outermost(situation.failure))

    def answer(self) -> list[Finding]:
        nested = _nested(self.situation.failure)
        holders = [node for node in self.walk if node.name() == _REENTRANT and self._is_inside(node)]
        if nested is not None and not any(node is nested for node in holders):
            holders.append(nested)
        if holders:
            return self._checkpointed(nested if nested is not None else holders[-1], holders)
        earlier = self._earlier_pass()
        if earlier is not None:
            return self._several_passes(earlier)
        if getattr(self.model, "find_unused_parameters", False):
            return self._unseen()
        return []

    def _is_inside(self, node: Any) -> bool:
        """Whether the function of a reentrant checkpoint holds the parameter."""
        return any(
            parameter is self.parameter
            for module in modules_held(getattr(node, "run_function", None))
            for _, each in module_source.walk(module)
            for parameter in each._parameters.values()
        )

    # -- a reentrant checkpoint runs a backward of its own (torch/utils/checkpoint.py, CheckpointFunction.backward)

    def _checkpointed(self, failing: Any, holders: list[Any]) -> list[Finding]:
        site = self._site(failing)
        place = Place.of(site) if site is not None else self._only_checkpoint()
        if place is None:
            return []
        users = [path for path, module in module_source.walk(self.model.module) if self._owns(module)]
        steps: list[Step] = []
        for path in users[:1]:
            origin = module_source.made(self.model.module, path) if path else None
            if origin is not None and "(" in origin[0].text:
                steps.append(Step(at=origin[0].at, note=Message("ddp-ready-twice.made", self._facts())))
        others = {each for node in holders if (each := self._site(node)) is not None and each != site}
        steps += [account.station(other, Message("ddp-ready-twice.also", self._facts())) for other in others]
        hidden = len(holders) == 1 and getattr(self.model, "find_unused_parameters", False)
        cause = "checkpoint-hides-parameters" if hidden else "double-use"
        facts: dict[str, Argument] = {"count": len(holders)}
        key = "headline" if hidden or len(holders) > 1 else "headline-outside"
        return [
            self._finding(
                cause, place, facts, steps, headline=key, fixes=self._without_reentrance(site), certain=site is not None
            )
        ]

    def _owns(self, module: Any) -> bool:
        return any(parameter is self.parameter for parameter in module._parameters.values())

    def _site(self, node: Any) -> Site | None:
        found = made(node, self.situation.watch.recorder) if self.situation.watch.recorder.operations else None
        return found.site if found is not None else None

    def _only_checkpoint(self) -> Place | None:
        """The one call of a checkpoint in the program's files, where the run was not recorded."""
        found: list[Place] = []
        sources = {id(s): s for live in self.situation.failure.user_frames if (s := live.site.source) is not None}
        for source in sources.values():
            found += [
                Place(located(source, node), source.segment(node))
                for node in (ast.walk(source.tree) if source.tree is not None else ())
                if isinstance(node, ast.Call) and account.called(node) in ("checkpoint", "checkpoint_sequential")
            ]
        return found[0] if len(found) == 1 else None

    def _without_reentrance(self, site: Site | None) -> tuple[Fix, ...] | None:
        call = account.call_at(site) if site is not None else None
        source = site.source if site is not None else None
        if site is None or call is None or source is None or not account.called(call).startswith("checkpoint"):
            return None
        fault = Fault(cause="double-use", file=site.location().file, source=source, node=call)
        edit = with_keyword(fault, call, "use_reentrant", "False")
        return (Fix(title=Message("checkpoint-frozen-input.advice"), applicability="unsafe", edits=(edit,)),)

    # -- several passes

    def _earlier_pass(self) -> BackwardPass | None:
        """A pass since the last forward of this model."""
        began = self.wrapped.began if self.wrapped is not None else None
        passes = self.situation.watch.journal.passes if self.situation.watch.was_recording else ()
        return next((each for each in passes if began is not None and each.order > began and each.chain), None)

    def _several_passes(self, earlier: BackwardPass) -> list[Finding]:
        surface = self.situation.failure.surface
        if surface is None:
            return []
        steps = [account.station(earlier.chain[0], Message("ddp-ready-twice.first", self._facts()))]
        if self.wrapped is not None and self.wrapped.called:
            steps.insert(0, account.station(self.wrapped.called[0], Message("ddp-ready-twice.forward", self._facts())))
        place = Place.of(surface.site)
        return [self._finding("double-use", place, {}, steps, headline="headline-passes", advice="advice-passes")]

    # -- find_unused_parameters=True looks at what forward returned (torch/nn/parallel/distributed.py, _post_forward)

    def _unseen(self) -> list[Finding]:
        ended = self.wrapped.ended if self.wrapped is not None else -1
        users = [
            node for node, following in self.walk.items()
            if any(graph.variable_of(each) is self.parameter for each in following)
        ]  # fmt: skip
        outside = [node for node in users if 0 <= ended <= graph.number_of(node)]
        for node in outside:
            site = self._site(node)
            if site is not None:
                return [self._finding("used-outside-forward", Place.of(site), {}, [])]
        place = self._returned()
        if users and place is not None and not outside:
            return [self._finding("output-hidden", place, {}, [], certain=False)]
        return []

    def _returned(self) -> Place | None:
        """The one ``return`` of the wrapped module's ``forward``."""
        for each in module_source.classes_of(self.model.module):
            for function in each.functions():
                returns = [n for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None]
                if function.name == "forward" and len(returns) == 1:
                    return Place(located(each.source, returns[0]), each.source.segment(returns[0]))
        return None

    def _facts(self) -> dict[str, Argument]:
        return {"name": Code(self.name)}

    def _finding(
        self, cause: str, place: Place, facts: dict[str, Argument], steps: list[Step], **options: Any
    ) -> Finding:
        flags = {
            "find_unused_parameters": bool(getattr(self.model, "find_unused_parameters", False)),
            "static_graph": bool(getattr(self.model, "static_graph", False)),
        }
        evidence = [
            Evidence(kind="parameter", subject=self.name, facts={"shape": account.shape_of(self.parameter)}),
            Evidence(kind="value", subject="DistributedDataParallel", facts=flags),
        ]
        if self.wrapped is not None and self.wrapped.chain:
            steps = [account.station(self.wrapped.chain[0], Message("ddp-ready-twice.wrapped")), *steps]
        return account.finding(
            self.situation, SYMPTOM, cause, place.at, place.text, facts=self._facts() | facts, steps=steps,
            evidence=evidence, **options,
        )  # fmt: skip


def _outermost(failure: Failure) -> list[Any]:
    """The tensors that the program's own call differentiated: a checkpoint's inner pass comes after it."""
    for live in failure.frames:
        if "/autograd/" in live.site.file.replace("\\", "/"):
            for name in ("t_outputs", "tensors", "outputs"):
                held = live.frame.f_locals.get(name)
                if isinstance(held, (tuple, list)):
                    return list(held)
    return []


def _nested(failure: Failure) -> Any:
    """The innermost reentrant checkpoint that was being run again; None where there was none."""
    for live in reversed(failure.frames):
        if (
            live.site.file.replace("\\", "/").endswith("torch/utils/checkpoint.py")
            and live.frame.f_code.co_name == "backward"
        ):
            return live.frame.f_locals.get("ctx")
    return None
