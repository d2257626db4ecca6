"""``GradScaler`` refuses: which of its calls is missing, double or for another optimizer, or why there is nothing to unscale."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from gradwhy.findings import Argument, Code, Evidence, Finding, Message, Step
from gradwhy.runtime import account, gradless, half_precision
from gradwhy.runtime.account import Place
from gradwhy.runtime.failure import Failure, LiveFrame
from gradwhy.runtime.journal import BackwardPass, OptimizerStep
from gradwhy.runtime.patches.scaling import ScalerCall
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.sites import Site, located

SYMPTOM = "amp"
_FILE = "torch/amp/grad_scaler.py"
_NO_GRADS = "No inf checks were recorded for this optimizer"
_NO_STEP = "No inf checks were recorded prior to update"
_UNSCALED = "unscale_() has already been called on this optimizer"
_AFTER_STEP = "unscale_() is being called after step()"
_STEPPED = "step() has already been called since the last update()"
_HALF = "Attempting to unscale FP16 gradients"
_NOT_SCALED = "_scale is None"
_CLOSURE = "Closure use is not currently supported if GradScaler is enabled"
_TEXTS = (_NO_GRADS, _NO_STEP, _UNSCALED, _AFTER_STEP, _STEPPED, _HALF, _NOT_SCALED, _CLOSURE)


def matches(failure: Failure) -> bool:
    return _entry(failure) is not None and any(text in failure.text for text in _TEXTS)


def diagnose(situation: Situation) -> list[Finding]:
    entry, surface = _entry(situation.failure), situation.failure.surface
    if entry is None or surface is None:
        return []
    case = _Case(situation, entry, surface.site)
    text = situation.failure.text
    for known, answer in (
        (_NO_GRADS, case.no_gradients), (_NO_STEP, case.no_step), (_UNSCALED, case.twice), (_STEPPED, case.twice),
        (_AFTER_STEP, case.after_step), (_HALF, case.half), (_NOT_SCALED, case.not_scaled), (_CLOSURE, case.closure),
    ):  # fmt: skip
        if known in text:
            return list(answer())
    return []


def _entry(failure: Failure) -> LiveFrame | None:
    """The scaler's method that the program called."""
    return next((live for live in failure.frames if live.site.file.replace("\\", "/").endswith(_FILE)), None)


class _Case:
    """The failing call, and those before it."""

    def __init__(self, situation: Situation, entry: LiveFrame, site: Site) -> None:
        self.situation = situation
        self.site = site
        self.here = Place.of(site)
        values = entry.frame.f_locals
        self.method = entry.frame.f_code.co_name
        self.scaler = values.get("self")
        self.optimizer = values.get("optimizer")
        self.calls = situation.watch.scaling.of(self.scaler, self.optimizer)
        self.passes: list[BackwardPass | ScalerCall] = list(situation.watch.journal.passes)
        self.recorded = situation.watch.was_recording
        if not self.recorded:
            # What was scaled went backward right after, in most programs.
            self.passes = [call for call in situation.watch.scaling.calls if call.method == "scale"]

    # -- the answers, one for each message

    def no_gradients(self) -> Iterable[Finding]:
        parameters = [p for group in getattr(self.optimizer, "param_groups", ()) for p in group["params"]]
        early = self._last("unscale_")
        backward = self.passes[-1] if self.passes else None
        if any(p.grad is not None for p in parameters) and early is not None:
            if backward is None or backward.order > early.order:
                # There was nothing to unscale yet when it was called.
                yield self._finding("scaler-call-misplaced", Place.of(early.chain[0]), key="early", steps=self._story())
            return
        told = gradless.explain(self.optimizer, parameters, self.passes, self._since(), self.situation)
        if told is not None:
            yield self._finding(
                told.cause, told.place, key=told.key, facts=told.facts, steps=[*told.steps, *self._story()],
                certain=told.certain and self.recorded, advice=told.advice, evidence=self._of(parameters),
            )  # fmt: skip

    def no_step(self) -> Iterable[Finding]:
        direct = self._direct_step()
        if direct is not None:
            site = direct.chain[0]
            yield self._finding("scaler-bypassed", Place.of(site), key="step", steps=self._story())
            return
        yield self._finding("scaler-call-misplaced", self.here, key="update", steps=self._story())

    def twice(self) -> Iterable[Finding]:
        """``unscale_`` or ``step`` again before ``update``."""
        before = self._last(self.method if self.method != "step" or self._last("step") else "unscale_")
        if before is None:
            return
        direct = self._direct_step(before.order) if self.method == "unscale_" else None
        if direct is not None:
            yield self._finding("scaler-bypassed", Place.of(direct.chain[0]), key="step", steps=self._story())
            return
        again = [each for each in self.passes if each.order > before.order]
        left = self._way_out(before) if again else None
        if left is not None:
            yield self._finding("scaler-update-missing", left, key="skipped", steps=self._story(), certain=False)
            return
        if again and self.method == "step":
            yield self._update_missing(before)
            return
        steps = self._story()
        if again and not self._updates_elsewhere() and not self._has_conditional_step():
            yield self._update_missing(before)
            return
        yield self._finding("scaler-call-repeated", self.here, key=self.method.strip("_"), steps=steps)

    def after_step(self) -> Iterable[Finding]:
        stepped = self._last("step")
        if stepped is not None and any(each.order > stepped.order for each in self.passes):
            yield self._update_missing(stepped)
            return
        yield self._finding("scaler-call-misplaced", self.here, key="late", steps=self._story())

    def half(self) -> Iterable[Finding]:
        found = half_precision.explain(self.optimizer, self.situation)
        if found is not None:
            parameter, place, name, steps, certain = found
            shown: dict[str, Any] = {"shape": account.shape_of(parameter), "dtype": str(parameter.dtype)}
            yield self._finding(
                "half-precision-parameter", place, facts={"name": Code(name)}, steps=[*steps, *self._story()],
                evidence=[Evidence(kind="parameter", subject=name, facts=shown)], certain=certain,
            )  # fmt: skip

    def not_scaled(self) -> Iterable[Finding]:
        other = next((c for c in reversed(self.situation.watch.scaling.calls) if c.method == "scale"), None)
        last = self.passes[-1] if self.passes and self.recorded else None
        if other is not None and other.scaler != id(self.scaler):
            steps = [account.station(other.chain[0], Message("amp.other-scaler"))]
            yield self._finding("scaler-bypassed", self.here, key="other", steps=steps)
        elif last is not None and last.chain:
            yield self._finding("scaler-bypassed", Place.of(last.chain[0]), key="backward")
        else:
            yield self._finding("scaler-call-misplaced", self.here, key="first", certain=self.recorded)

    def closure(self) -> Iterable[Finding]:
        yield self._finding("closure-with-scaler", self.here)

    # -- what happened before

    def _last(self, method: str) -> ScalerCall | None:
        return next((call for call in reversed(self.calls) if call.method == method), None)

    def _since(self) -> int:
        """The journal's count when this optimizer last stepped, or the scaler was last updated."""
        ends = [
            call.order for call in self.situation.watch.scaling.calls
            if call.scaler == id(self.scaler)
            and (call.method == "update" or (call.method == "step" and call.optimizer == id(self.optimizer)))
        ]  # fmt: skip
        return max(ends, default=0)

    def _direct_step(self, since: int | None = None) -> OptimizerStep | None:
        """A step of an optimizer that the program itself asked for, past the scaler."""
        watch = self.situation.watch
        begin = since if since is not None else max(
            (c.order for c in watch.scaling.calls if c.scaler == id(self.scaler) and c.method == "update"), default=0
        )  # fmt: skip
        through = {call.chain[0] for call in watch.scaling.calls if call.method == "step"}
        for step in reversed(watch.journal.stepped):
            if step.order > begin and step.chain and step.chain[0] not in through and _is_direct(step.chain[0]):
                return step
        return None

    def _update_missing(self, after: ScalerCall) -> Finding:
        """``update`` should have come between: the place is where the program has it, else the call that it should follow."""
        written = self._updates()
        if len(written) == 1:
            return self._finding("scaler-update-missing", written[0], key="rare", steps=self._story(), certain=False)
        return self._finding("scaler-update-missing", Place.of(after.chain[0]), steps=self._story())

    def _way_out(self, before: ScalerCall) -> Place | None:
        """The one statement by which the function leaves, or begins its next turn, between a call and its ``update``."""
        site = before.chain[0]
        source, node = site.source, site.node()
        function = source.function(node) if source is not None and node is not None else None
        scope = function or (source.tree if source is not None else None)
        if source is None or scope is None:
            return None
        name = account.receiver(self.site).rpartition(".")[2]
        after = [
            inner.lineno
            for inner in ast.walk(scope)
            if isinstance(inner, ast.Call) and account.called(inner) == "update" and inner.lineno > site.line
            and isinstance(inner.func, ast.Attribute) and source.segment(inner.func.value).rpartition(".")[2] == name
        ]  # fmt: skip
        if not after:
            return None
        found = [
            each for each in ast.walk(scope)
            if isinstance(each, (ast.Return, ast.Continue, ast.Break)) and site.line < each.lineno < min(after)
            and source.function(each) is function
        ]  # fmt: skip
        return Place(located(source, found[0]), source.segment(found[0])) if len(found) == 1 else None

    def _updates(self) -> list[Place]:
        """Where the program calls ``update`` on what it calls the scaler here."""
        name = account.receiver(self.site).rpartition(".")[2]
        found: list[Place] = []
        sources = {id(s): s for live in self.situation.failure.user_frames if (s := live.site.source) is not None}
        for source in sources.values():
            for node in ast.walk(source.tree) if source.tree is not None else ():
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "update":
                    if name and source.segment(node.func.value).rpartition(".")[2] == name:
                        found.append(Place(located(source, node), source.segment(node)))
        return found

    def _updates_elsewhere(self) -> bool:
        return bool(self._updates())

    def _has_conditional_step(self) -> bool:
        """Whether the program steps only now and then: gradients are accumulated, and ``unscale_`` belongs to the step."""
        name = account.receiver(self.site).rpartition(".")[2]
        source, node = self.site.source, self.site.node()
        scope = (source.function(node) or source.tree) if source is not None and node is not None else None
        if scope is None or source is None:
            return False
        for inner in ast.walk(scope):
            if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr == "step":
                if source.segment(inner.func.value).rpartition(".")[2] == name:
                    return any(isinstance(outer, ast.If) for outer in source.enclosing(inner))
        return False

    def _story(self) -> list[Step]:
        """The calls since the last ``update``, in order: the backward passes, and what the scaler was asked for."""
        begin = min((call.order for call in self.calls), default=None)
        told: list[tuple[int, Step]] = []
        for call in self.calls[-6:]:
            # scale() and the backward of its result are one line for most people.
            if call.method != "scale":
                note = Message("amp.called", {"method": Code(f"{call.method}()")})
                told.append((call.order, account.station(call.chain[0], note)))
        passes = [p for p in self.passes if p.chain and begin is not None and p.order > begin]
        told += [(each.order, account.station(each.chain[0], Message("amp.backward"))) for each in passes[-3:]]
        return [step for _, step in sorted(told, key=lambda pair: pair[0])]

    # -- telling

    def _of(self, parameters: list[Any]) -> list[Evidence]:
        facts = {
            "parameters": len(parameters),
            "with a gradient": sum(p.grad is not None for p in parameters),
            "require grad": sum(bool(p.requires_grad) for p in parameters),
        }
        return [Evidence(kind="optimizer", subject=self._name(), facts=facts)]

    def _name(self) -> str:
        """What the program calls the failing call's optimizer."""
        call = account.call_at(self.site)
        source = self.site.source
        if call is not None and call.args and source is not None:
            return source.segment(call.args[0])
        known = [name for name, held in self.situation.names.optimizers.items() if held is self.optimizer]
        return known[0] if known else "the optimizer"

    def _finding(
        self,
        cause: str,
        place: Place,
        key: str = "",
        facts: dict[str, Argument] | None = None,
        steps: Iterable[Step] = (),
        evidence: Iterable[Evidence] = (),
        certain: bool = True,
        advice: str = "",
    ) -> Finding:
        suffix = f"-{key}" if key else ""
        scaler = account.receiver(self.site) or "scaler"
        name = Code(self._name())
        filled: dict[str, Argument] = {
            "optimizer": name,
            "scaler": Code(scaler),
            "name": name,
            "method": Code(self.method),
        }
        advice = advice or f"advice{suffix}"
        return account.finding(
            self.situation, SYMPTOM, cause, place.at, place.text, headline=f"headline{suffix}", advice=advice,
            facts=filled | (facts or {}), steps=steps, evidence=evidence, certain=certain,
        )  # fmt: skip


def _is_direct(site: Site) -> bool:
    """Whether a line calls ``x.step()`` with no optimizer given to it, as a scaler's step has."""
    call = account.call_at(site)
    return call is not None and account.called(call) == "step" and not call.args
