"""Listens to what a training step is made of, and fills the ledger. Nothing of the program is changed or held."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch
from torch.amp import grad_scaler
from torch.optim import optimizer as optimizers

from gradwhy.runtime import graph
from gradwhy.runtime.audit import broadcasting, cancelling, masking, probabilities, unreached, unwarned
from gradwhy.runtime.audit.calls import Calls
from gradwhy.runtime.audit.case import Case, Held
from gradwhy.runtime.audit.functions import CustomFunctions
from gradwhy.runtime.audit.gradients import parameters_of, states_of
from gradwhy.runtime.audit.ledger import Ledger, Pass, Step
from gradwhy.runtime.audit.modules import Inspection
from gradwhy.runtime.audit.roster import Roster
from gradwhy.runtime.audit.terms import Terms
from gradwhy.runtime.audit.wrapping import Wrapping
from gradwhy.runtime.audit.zeros import ZeroSearch
from gradwhy.runtime.failure import standing
from gradwhy.runtime.names import Names
from gradwhy.runtime.records import node_of
from gradwhy.runtime.sites import frames_from, user_chain
from gradwhy.runtime.writes import sequence_now
from gradwhy.torchapi import hosts

if TYPE_CHECKING:
    from gradwhy.runtime.watch import Watch

# How often a line's graph is searched for what makes a gradient zero.
_SEARCHES = 4


class Observer:
    """What listens between ``start`` and ``stop``; it looks only while the watch records."""

    def __init__(self, watch: Watch, on_step: Callable[[], None]) -> None:
        self.watch = watch
        self.ledger = Ledger()
        self.roster = Roster()
        self.inspection = Inspection()
        self.terms = Terms(watch, self.ledger)
        self.on_step = on_step
        self.numbers: dict[int, int] = {}
        """id of an optimizer -> its number in the journal's order of making."""
        self.optimizers: dict[int, weakref.ref[Any]] = {}
        self.calls = Calls(watch, self.ledger)
        self.functions = CustomFunctions(watch)
        self.wrapping = Wrapping(watch)
        self.masks = masking.Masks()
        self.held: dict[int, Held] = {}
        self._before: dict[int, list[Any]] = {}
        self._used: dict[int, tuple[int, int]] = {}
        """id of a leaf -> (version of its gradient, id of it) when an optimizer had used it."""
        self._step_depth = 0
        self._looked = -1
        self._flags = 0
        self._zero: set[int] = set()
        """ids of the leaves whose gradient was zero at the last step of their optimizer."""
        self._met: set[int] = set()
        """ids of the leaves that were there at the last look, with a name or without."""
        self._compared_until: dict[int, int] = {}
        self._searches: dict[Any, int] = {}
        self._scanned: dict[Any, int] = {}
        self._undo: list[Callable[[], None]] = []

    # -- putting it in place

    def start(self) -> None:
        watch = self.watch
        before = optimizers.register_optimizer_step_pre_hook(self._before_step)
        after = optimizers.register_optimizer_step_post_hook(self._after_step)
        self._undo += [before.remove, after.remove]
        if hasattr(torch.autograd, "_engine_run_backward"):
            watch._replace(torch.autograd, "_engine_run_backward", self._engine, self._undo)
        watch._replace(torch.autograd.Function, "apply", self.functions.applying, self._undo)
        self.calls.install(self._undo)
        if torch.distributed.is_available():
            self.wrapping.install(self._undo)
        self.terms.listen()
        broadcasting.listen(watch.recorder, self.ledger)
        masking.listen(watch.recorder, self.masks)
        unwarned.listen(watch)

    def stop(self) -> None:
        self.watch.recorder.listeners.clear()
        self.watch._unpatch(self._undo)

    def rest(self) -> None:
        """Stop looking: from here on the program runs as it would without us."""
        self.stop()
        self.watch.stop()

    @property
    def looks(self) -> bool:
        return self.watch.recording

    def number_of(self, optimizer: Any) -> int:
        key = id(optimizer)
        known = self.optimizers.get(key)
        if known is None or known() is not optimizer:
            self.optimizers[key] = weakref.ref(optimizer)
            self.numbers[key] = max(self.numbers.values(), default=-1) + 1
        return self.numbers[key]

    def live_optimizers(self) -> Iterable[tuple[int, Any]]:
        for key, reference in self.optimizers.items():
            if (optimizer := reference()) is not None:
                yield self.numbers[key], optimizer

    # -- the engine

    def _engine(self, original: Any) -> Any:
        def _engine_run_backward(outputs: Any, *args: Any, **kwargs: Any) -> Any:
            begun: list[tuple[Pass, ZeroSearch | None]] = []
            if self.looks and torch._C._len_torch_dispatch_stack() == 0:
                self.watch._quietly(lambda: begun.append(self._begin(outputs, args, kwargs, sys._getframe(3))))
            done = False
            try:
                result = original(outputs, *args, **kwargs)
                done = True
                return result
            finally:
                for each, search in begun:
                    if search is not None:
                        self.watch._quietly(self._searched, search, done)
                    if done:
                        self.watch._quietly(self.ledger.add_pass, each)

        return _engine_run_backward

    def _begin(self, outputs: Any, args: Any, kwargs: Any, frame: FrameType) -> tuple[Pass, ZeroSearch | None]:
        starts = [getattr(output, "node", None) or node_of(output) for output in outputs]
        walk = graph.nodes_from([node for node in starts if node is not None])
        leaves = {id(leaf): leaf for node in walk if (leaf := graph.variable_of(node)) is not None}
        leaves |= {id(o): o for o in outputs if isinstance(o, torch.Tensor) and o.is_leaf and o.requires_grad}
        wanted = args[3] if len(args) > 3 else ()
        chain = user_chain(frame, limit=8)
        each = Pass(
            chain=chain,
            order=self.watch.journal.next_order(),
            leaves=frozenset(leaves),
            numbers=frozenset(map(graph.number_of, walk)),
            wanted=frozenset(map(id, wanted)) if wanted else None,
            accumulates=bool(kwargs.get("accumulate_grad", True)),
            begun=sequence_now(),
            inside_step=self._step_depth > 0,
            held=frozenset(key for key, leaf in leaves.items() if self._holds_used(leaf)),
            empty=frozenset(key for key, leaf in leaves.items() if leaf.grad is None),
        )
        self.wrapping.went(each.leaves, chain)
        if self._scanned.get(chain[:1], 0) < _SEARCHES:
            self._scanned[chain[:1]] = self._scanned.get(chain[:1], 0) + 1
            cancelling.scan(walk, self.watch.recorder, self.ledger)
            probabilities.scan(walk, self.watch.recorder, self.ledger)
        zero = self._zero & leaves.keys()
        search = None
        if zero and each.accumulates and self._searches.get(chain[:1], 0) < _SEARCHES:
            self._searches[chain[:1]] = self._searches.get(chain[:1], 0) + 1
            search = ZeroSearch(walk, zero, self.watch.recorder)
        return each, search

    def _searched(self, search: ZeroSearch, done: bool) -> None:
        search.end()
        if done:
            self.ledger.zeroed.update(search.found())
        search.forget()

    def _holds_used(self, leaf: Any) -> bool:
        used = self._used.get(id(leaf))
        if used is None or leaf.grad is None:
            return False
        return (leaf.grad._version, id(leaf.grad)) == used

    # -- optimizers

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._step_depth += 1
        if self.looks:
            self.watch._quietly(self._take_stock, optimizer, args, kwargs, sys._getframe(1))

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._step_depth = max(self._step_depth - 1, 0)
        if self.looks:
            self.watch._quietly(self._settle, optimizer, args, kwargs, sys._getframe(1))
        self.on_step()

    def _take_stock(self, optimizer: Any, args: Any, kwargs: Any, frame: FrameType) -> None:
        parameters = parameters_of(optimizer)
        self._hold(optimizer)
        self._look(parameters, frame)
        if not _has_closure(args, kwargs):
            self._note_gradients(optimizer, parameters, frame)
        if self._compares(self.number_of(optimizer)):
            with torch._C.DisableTorchFunction():
                self._before[id(optimizer)] = [p.detach().clone() for p in parameters]

    def _compares(self, number: int) -> bool:
        """Whether this step is compared with the values before it: the first, second, fourth, eighth …, and the first two after
        something was frozen, released or masked. To copy all parameters costs too much for each."""
        done = self.ledger.updates.get(number, 0)
        changes = len(self.watch.journal.flags)
        if changes != self._flags or self.masks.waiting:
            self._flags, self._compared_until[number] = changes, done + 2
        return (done + 1) & done == 0 or done < self._compared_until.get(number, 0)

    def _settle(self, optimizer: Any, args: Any, kwargs: Any, frame: FrameType) -> None:
        parameters = parameters_of(optimizer)
        number = self.number_of(optimizer)
        if _has_closure(args, kwargs):
            self._note_gradients(optimizer, parameters, frame)
        copies = self._before.pop(id(optimizer), [])
        with torch._C.DisableTorchFunction():
            self.masks.settle(number, parameters, copies)
            for parameter, copy in zip(parameters, copies) if len(copies) == len(parameters) else ():
                account = self.ledger.account(number, id(parameter))
                account.compared += 1
                now = parameter.detach()
                if now.shape == copy.shape and not torch.equal(now, copy):
                    account.changed += 1
                    account.frozen_changed += not parameter.requires_grad
                    size = float(copy.norm()) if copy.is_floating_point() else 0.0
                    account.relative = float((now - copy).norm()) / size if size else 1.0
                account.all_zero = not bool(copy.any())
            for parameter in parameters:
                gradient = parameter.grad
                if gradient is not None and self.ledger.account(number, id(parameter)).state != "zero":
                    self._used[id(parameter)] = (gradient._version, id(gradient))
        self.ledger.updates[number] = self.ledger.updates.get(number, 0) + 1

    def _note_gradients(self, optimizer: Any, parameters: list[Any], frame: FrameType) -> None:
        number, ledger = self.number_of(optimizer), self.ledger
        states = states_of(parameters)
        for parameter, (state, norm) in zip(parameters, states):
            ledger.account(number, id(parameter)).note(state, norm)
        self._zero = {id(parameter) for parameter, (state, _) in zip(parameters, states) if state == "zero"} | (
            self._zero - {id(parameter) for parameter in parameters}
        )
        previous = next((s for s in reversed(ledger.steps) if s.optimizer == number), None)
        since = previous.order if previous is not None else -1
        ids = {id(parameter) for parameter in parameters}
        passes = [p for p in ledger.passes if p.order > since and p.accumulates and p.leaves & ids]
        fed = sum(state != "none" for state, _ in states)
        for each in passes if fed else ():
            each.used = each.used or not each.dropped
        step = Step(
            optimizer=number,
            chain=user_chain(frame, limit=8),
            order=self.watch.journal.next_order(),
            fed=fed,
            number=sequence_now(),
            scaled=_is_inside(frame, grad_scaler.__file__),
            host="" if ledger.passes else _trainer(frame),
            carried=previous is not None and self._is_carried(passes, ids),
        )
        ledger.steps.append(step)
        without = {id(p) for p, (state, _) in zip(parameters, states) if state == "none" and p.requires_grad}
        steps = ledger.updates.get(number, 0) + 1
        if without and steps > 1 and steps & (steps - 1) == 0:
            ledger.lost.update(unreached.explain(frozenset(without), since, step, self))

    def _is_carried(self, passes: list[Pass], ids: set[int]) -> bool:
        """Whether the first of the passes added to gradients that had been used, and nothing cleared them since."""
        if not passes or not passes[0].held & ids or any(p.empty & ids for p in passes):
            return False
        now = self.watch.journal.order
        return not any(e.ids & ids for e in self.ledger.events_between("clear", passes[0].order, now + 1))

    def _hold(self, optimizer: Any) -> None:
        """Remember what an optimizer holds now, and what it is told to do with it."""
        number = self.number_of(optimizer)
        options: dict[int, dict[str, Any]] = {}
        for index, group in enumerate(optimizer.param_groups):
            kept = {k: v for k, v in group.items() if isinstance(v, (int, float, bool))} | {"group": index}
            options |= {id(parameter): kept for parameter in group["params"]}
        known = self.held.get(number)
        if known is not None and known.options == options:
            return
        made = next((r for r in self.watch.journal.optimizers if r.reference() is optimizer), None)
        self.held[number] = Held(
            number=number,
            kind=type(optimizer).__name__,
            chain=made.chain if made is not None else (),
            order=made.order if made is not None else 0,
            ids=frozenset(options) | (known.ids if known is not None else frozenset()),
            options=options,
        )

    def case(self) -> Case:
        """What the faults look at, when the watched steps are over."""
        held = [self.held[number] for number in sorted(self.held)]
        return Case(
            self.watch, self.ledger, self.roster, self.inspection, self.terms, self.masks, self.calls, self.functions,
            self.wrapping, held,
        )  # fmt: skip

    # -- names

    def _look(self, parameters: list[Any], frame: FrameType) -> None:
        """Name what isn't named yet, and look at the modules: at steps 1, 2, 4, 8 …, and where something new trains."""
        total = sum(self.ledger.updates.values())
        new = any(id(p) not in self._met for p in parameters) or not self.ledger.reached.keys() <= self._met
        regular = total & (total - 1) == 0
        if total == self._looked or not (regular or (new and self.roster.names < 64)):
            return
        self._looked = total
        with standing(frame) as failure, torch._C.DisableTorchFunction():
            for record in self.watch.journal.optimizers:
                if (other := record.reference()) is not None:
                    self._hold(other)
            names = Names(failure.frames)
            self.roster.look(failure, names, self.calls.loaded, self.ledger.reached, self.watch.recorder)
            for parameter in parameters:
                self.roster.keep(parameter)
            self.inspection.look(names, self)
        self._met |= self.roster.members.keys() | self.ledger.reached.keys()


def _trainer(frame: FrameType) -> str:
    stack = [(each.f_code.co_filename, each.f_code.co_name) for each in frames_from(frame)]
    return hosts.advice("backward-missing", [stack])


def _is_inside(frame: FrameType | None, file: str) -> bool:
    """Whether a frame was called from a file, through torch's own code."""
    for _ in range(12):
        if frame is None:
            return False
        if frame.f_code.co_filename == file:
            return True
        frame = frame.f_back
    return False


def _has_closure(args: Any, kwargs: Any) -> bool:
    return (args[1] if len(args) > 1 else kwargs.get("closure")) is not None
