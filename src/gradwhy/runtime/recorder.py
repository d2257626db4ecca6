"""Watches torch calls and remembers, by line, where values lose their gradient path. Holds no tensor."""

from __future__ import annotations

import sys
import weakref
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from gradwhy.runtime import graph
from gradwhy.runtime.departed import Departures
from gradwhy.runtime.journal import Journal
from gradwhy.runtime.node_lines import NodeLines
from gradwhy.runtime.records import Input, Record, Slot, keeps_graph, node_of, sequences_of, shape_of
from gradwhy.runtime.sites import Site, user_chain, user_frame, whole_stack
from gradwhy.runtime.trails import Trail
from gradwhy.runtime.writes import WriteLog

Tensor = torch.Tensor
Parameter = torch.nn.Parameter
# How long a chain of untracked operations is remembered, how many dead entries may wait to be dropped, how many cuts are kept.
_DEEPEST = 2_000
_PRUNE_AT = 20_000
_CUTS_KEPT = 1_024

_QUIET = frozenset({type(None), bool, int, str, torch.Size, torch.dtype, torch.device, torch.layout})
_SEQUENCES = (list, tuple)


class Recorder(TorchFunctionMode):  # type: ignore[misc]
    """The one instrument: sees each call of a torch function while it is on torch's stack of modes.

    Each result that requires grad costs one line number; each that doesn't, one small record that lives as long as
    something may still descend from it.
    """

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self.journal = journal
        self.active = True
        self.listeners: dict[Any, Callable[[Any, Any, Any, FrameType], None]] = {}
        """By function: what wants to hear of its calls, as (arguments, keywords, result, frame)."""
        self.on_leaf_loss: Callable[[Any, Record, FrameType], None] = lambda tensor, record, frame: None
        self.faults: list[BaseException] = []
        self.operations = 0
        self.records: dict[int, tuple[weakref.ref[Any], Record]] = {}
        self.nodes = NodeLines()
        self.cuts: deque[Record] = deque(maxlen=_CUTS_KEPT)
        self.departures = Departures()
        self.writes = WriteLog()
        self.trails: list[Trail] = []
        self._prune_at = _PRUNE_AT
        self._walked: dict[tuple[int, int, Slot], tuple[int, tuple[int, ...]]] = {}
        base = Tensor
        self._special = {
            base.requires_grad.__set__: self._flag_set,
            base.requires_grad_: self._flag_called,
            base.detach_: self._detached_in_place,
            base.__setitem__: self._item_set,
            base.data.__set__: self._data_set,
            base.grad.__get__: self._grad_read,
            Tensor.backward: self._backward,
            torch.autograd.backward: self._backward,
            torch.autograd.grad: self._graded,
            base.item: self._departed,
            base.tolist: self._departed,
            base.numpy: self._departed,
            base.__float__: self._departed,
            base.__int__: self._departed,
            base.__complex__: self._departed,
            base.__index__: self._departed,
            Tensor.__array__: self._departed,
            torch.equal: self._departed,
            torch.allclose: self._departed,
            base.to: self._moved,
            base.cuda: self._moved,
        }
        self._builders = frozenset(
            {torch.tensor, torch.as_tensor, torch.asarray, torch.from_numpy, torch.full, torch.scalar_tensor,
             base.new_tensor, base.new_full, base.fill_}
        )  # fmt: skip

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        _rich_traceback_omit = __tracebackhide__ = True  # Where nobody has cleaned the traceback.
        result = func(*args, **kwargs) if kwargs else func(*args)
        if not self.active:
            return result
        kind = type(result)
        try:
            for trail in self.trails:
                trail.add(func, args, kwargs, result, sys._getframe(1))
            if func in self.listeners:
                self.listeners[func](args, kwargs, result, sys._getframe(1))
            if (args and result is args[0]) or (kwargs and ("out" in kwargs or kwargs.get("tensor") is result)):
                self._perhaps_written(func, args, kwargs, result)
            if kind is Tensor:
                self.operations += 1
                if result.requires_grad:
                    node = node_of(result)
                    if node is not None:
                        self.nodes.add(func, node, sys._getframe(1))
                    elif func in self._special:
                        self._special[func](func, args, kwargs or {}, result)
                    elif func in self._builders:
                        self._untracked(func, args, kwargs, (result,))
                else:
                    special = self._special.get(func)
                    if special is None or not special(func, args, kwargs or {}, result):
                        self._untracked(func, args, kwargs, (result,))
            elif kind in _QUIET:
                special = self._special.get(func)
                if special is not None:
                    special(func, args, kwargs or {}, result)
            else:
                special = self._special.get(func)
                if special is not None:
                    special(func, args, kwargs or {}, result)
                elif isinstance(result, _SEQUENCES):
                    self._several(func, args, kwargs, result)
                elif isinstance(result, Tensor):
                    if not result.requires_grad:
                        self._untracked(func, args, kwargs, (result,))
        except Exception as fault:
            self.note_fault(fault)
        return result

    def _perhaps_written(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """A result that is an argument of the call, or ``out=``, or ``tensor=`` as torch.nn.init hands its own on."""
        for tensor in (result,) if isinstance(result, Tensor) else result if type(result) in _SEQUENCES else ():
            if self.writes.is_write(func) or (kwargs and kwargs.get("out") is not None):
                self.writes.add(func, tensor, sys._getframe(2))

    def applied(self, function: Any, result: Any, frame: FrameType) -> None:
        """The line of a custom function's node: the mode sees what is inside ``forward``, not ``apply`` itself."""
        outputs = result if type(result) in _SEQUENCES else (result,)
        for tensor in outputs if self.active else ():
            if isinstance(tensor, Tensor) and tensor.requires_grad and (node := node_of(tensor)) is not None:
                self.nodes.add(function, node, frame)
                break

    def observe(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Record a call that the mode could not see."""
        try:
            made = result if type(result) in _SEQUENCES else (result,)
            untracked = tuple(r for r in made if isinstance(r, Tensor) and not r.requires_grad)
            if self.active and untracked:
                self._untracked(func, args, kwargs, untracked)
        except Exception as fault:
            self.note_fault(fault)

    def note_fault(self, fault: BaseException) -> None:
        """An error of ours is ours alone: it is noted, and after a few the recorder stays out of the way."""
        self.faults.append(fault.with_traceback(None))
        if len(self.faults) >= 5:
            self.active = False

    # -- results without a gradient path

    def _several(self, func: Any, args: Any, kwargs: Any, results: Any) -> None:
        untracked = tuple(r for r in results if isinstance(r, Tensor) and not r.requires_grad)
        tracked = [r for r in results if isinstance(r, Tensor) and r.requires_grad]
        for tensor in (tracked[0], tracked[-1]) if len(tracked) > 1 else tracked:
            if (node := node_of(tensor)) is not None:
                self.operations += tensor is tracked[0]
                self.nodes.add(func, node, sys._getframe(2))
        if untracked:
            self._untracked(func, args, kwargs, untracked, results)

    def _untracked(self, func: Any, args: Any, kwargs: Any, results: Any, whole: Any = None) -> Record | None:
        records = self.records
        # What a view or an in-place call returns may be one of its own inputs.
        parents: list[tuple[Slot, Record]] = []
        inputs: list[Input] = []
        frozen: list[int] = []
        depth = 0
        for slot, argument in (*enumerate(args), *kwargs.items()) if kwargs else enumerate(args):
            for tensor in argument if type(argument) in _SEQUENCES else (argument,):
                if isinstance(tensor, Tensor):
                    if tensor.requires_grad:
                        inputs.append(Input(slot, tensor))
                    elif isinstance(tensor, Parameter):
                        frozen.append(self.journal.key(tensor))
                    else:
                        entry = records.get(id(tensor))
                        if entry is None or entry[0]() is not tensor:
                            record = self._arrived(tensor)
                        else:
                            record = entry[1]
                        parents.append((slot, record))
                        if record.depth > depth:
                            depth = record.depth
                elif type(tensor) is float and tensor in self.departures.numbers:
                    parents.append((slot, self.departures.numbers[tensor]))
                elif type(tensor) in _SEQUENCES:
                    parents.extend((slot, record) for record in self._inside(tensor, inputs, slot))
        innermost = sys._getframe(2)
        frame = user_frame(innermost)
        record = Record(func, self.journal.next_order(), Site(frame.f_code, frame.f_lasti) if frame else None)
        scope = self.journal.scope
        if scope is not None and not scope.enables:
            record.scope = scope
        if depth < _DEEPEST:
            record.parents = tuple(parents)
            record.depth = depth + 1
        if frozen:
            record.frozen = tuple(frozen)
            record.chain = user_chain(frame, limit=12)
        if inputs:
            self._cut(record, inputs, innermost, frame, results)
            if func is torch.autograd.grad:
                record.value = bool((kwargs or {}).get("create_graph", len(args) > 4 and args[4]))
        elif self.departures and func in self._builders:
            record.parents += tuple((0, back) for back in self.departures.returned(args, kwargs))
        for result in results:
            key = id(result)
            known = records.get(key)
            if known is not None and known[0]() is result and not inputs and len(results) == 1:
                if not any(parent is known[1] for _, parent in record.parents):
                    record.parents += ((0, known[1]),)
                elif len(record.parents) == 1 and result is (args[0] if args else None) and not record.frozen:
                    continue
            if isinstance(result, Parameter):
                continue
            records[key] = (weakref.ref(result), record)
        if whole is not None and len(whole) > 1 and len(results) == 1:
            record.output = next(i for i, r in enumerate(whole) if r is results[0])
        if len(records) > self._prune_at:
            self._prune()
        return record

    def _inside(self, items: Any, inputs: list[Input], slot: Slot) -> list[Record]:
        found: list[Record] = []
        for item in items:
            if isinstance(item, Tensor):
                if item.requires_grad:
                    inputs.append(Input(slot, item))
                elif (record := self.record_of(item)) is not None:
                    found.append(record)
        return found

    def _cut(
        self,
        record: Record,
        inputs: list[Input],
        inner: FrameType | None,
        user: FrameType | None,
        results: Any,
    ) -> None:
        record.inputs = tuple(inputs)
        self.cuts.append(record)
        record.shape, record.dtype = shape_of(results[0]), str(results[0].dtype)
        record.chain = user_chain(user)
        library: list[Site] = []
        while inner is not None and inner is not user and len(library) < 40:
            library.append(Site(inner.f_code, inner.f_lasti))
            inner = inner.f_back
        record.library = tuple(library)
        if not torch.is_grad_enabled() or torch.is_inference_mode_enabled():
            record.grad_off = True
            record.scope = record.scope or self.journal.inference_scope()
            if record.scope is None:
                record.stack = (*library, *whole_stack(user))
        for tracked in inputs:
            if not tracked.leaves and tracked.reference is not None:
                tracked.leaves = self._leaves(record, tracked)

    def _leaves(self, record: Record, tracked: Input) -> tuple[int, ...]:
        """The leaf tensors behind an input. The same line has the same ones: it is walked twice, then remembered."""
        key = (id(record.code), record.lasti, tracked.slot)
        times, leaves = self._walked.get(key, (0, ()))
        tensor = tracked.reference() if tracked.reference is not None else None
        if times < 2 and tensor is not None:
            leaves = tuple(self.journal.key(leaf) for leaf in graph.leaves(tensor))
            self._walked[key] = (times + 1, leaves)
        return leaves

    def _arrived(self, tensor: Any) -> Record:
        """A tensor that was never seen before: loaded, made by a function out of sight, or read from elsewhere."""
        record = Record(None, self.journal.next_order(), None)
        self.records[id(tensor)] = (weakref.ref(tensor), record)
        return record

    def record_of(self, tensor: Any) -> Record | None:
        """The record of a tensor without a path, or None where it was never seen."""
        entry = self.records.get(id(tensor))
        if entry is None or tensor.requires_grad or entry[0]() is not tensor:
            return None
        return entry[1]

    def _prune(self) -> None:
        self.records = {key: entry for key, entry in self.records.items() if entry[0]() is not None}
        self._prune_at = max(_PRUNE_AT, 2 * len(self.records))

    # -- values that leave torch, and those that come back

    def _departed(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        tensor = args[0]
        frame = sys._getframe(2)
        parent = None
        if not tensor.requires_grad:
            parent = self.record_of(tensor)
            if parent is None:
                return
        user = user_frame(frame)
        record = Record(func, self.journal.next_order(), Site(user.f_code, user.f_lasti) if user else None)
        if parent is None:
            inputs = [Input(0, tensor)]
            self._cut(record, inputs, frame, user, (tensor,))
        else:
            record.parents = ((0, parent),)
            record.depth = parent.depth + 1
            record.chain = user_chain(user)
        self.departures.left(record, result)

    # -- the journal's entries that the mode sees

    def _flag_set(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        self._flag(args[0], bool(args[1]))

    def _flag_called(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        self._flag(args[0], bool(args[1] if len(args) > 1 else kwargs.get("requires_grad", True)))

    def _flag(self, tensor: Any, value: bool) -> None:
        self.journal.flag_changed(tensor, value, isinstance(tensor, Parameter), sys._getframe(3))
        entry = self.records.get(id(tensor))
        if value and entry is not None and entry[0]() is tensor:
            user = user_frame(sys._getframe(3))
            entry[1].flagged = Site(user.f_code, user.f_lasti) if user is not None else None

    def _backward(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        frame = sys._getframe(2)
        known = self.journal.knows_backward(frame)
        given = args[0] if args else kwargs.get("tensors", ())
        roots = given if isinstance(given, _SEQUENCES) else (given,)
        for tensor in roots if not known else ():
            if isinstance(tensor, Tensor) and tensor.requires_grad:
                self._ends_in_a_value(tensor, frame)
        self.journal.went_backward(frame, sequences_of(roots), keeps_graph(args, kwargs, 2))

    def _graded(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        given = args[0] if args else kwargs.get("outputs", ())
        roots = given if isinstance(given, _SEQUENCES) else (given,)
        self.journal.differentiated(sys._getframe(2), sequences_of(roots), keeps_graph(args, kwargs, 3))
        untracked = tuple(r for r in result if isinstance(r, Tensor) and not r.requires_grad)
        if untracked:
            self._untracked(func, args, kwargs, untracked, result)

    def _ends_in_a_value(self, tensor: Any, frame: FrameType) -> None:
        """A gradient that reached nothing of the optimizer that was cleared for it, but a tensor that was made of values."""
        leaves = [tensor] if node_of(tensor) is None else list(graph.leaves(tensor))
        wanted = self.journal.cleared_parameters()
        if node_of(tensor) is not None and (not wanted or any(id(leaf) in wanted for leaf in leaves)):
            return
        for leaf in leaves:
            entry = self.records.get(id(leaf))
            if entry is not None and entry[0]() is leaf:
                self.on_leaf_loss(tensor, entry[1], frame)

    def _moved(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        target = args[1] if len(args) > 1 else kwargs.get("device")
        if func == Tensor.cuda or isinstance(target, (str, torch.device, int)):
            self.journal.device_moved(sys._getframe(2))

    def _item_set(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        target = args[0]
        frame = sys._getframe(2)
        self.writes.add(func, target, frame)
        if not target.requires_grad:
            self._untracked(func, args, None, (target,))
        elif (node := node_of(target)) is not None:
            self.nodes.add(func, node, frame)

    def _data_set(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        target = args[0]
        self.writes.data_set(target, sys._getframe(2))
        if not target.requires_grad and not isinstance(target, Parameter):
            self._untracked(func, args, None, (target,))

    def _detached_in_place(self, func: Any, args: Any, kwargs: Any, result: Any) -> bool:
        # By now the tensor has no path and what it had can't be seen. One that was never met without a path had one.
        if self.record_of(args[0]) is None:
            self._sever(func, args[0], sys._getframe(2))
        return True

    def _grad_read(self, func: Any, args: Any, kwargs: Any, result: Any) -> bool:
        # A gradient that backward() left without a graph of its own.
        if result is not None and self.record_of(result) is None:
            self._sever(func, result, sys._getframe(2))
        return True

    def _sever(self, func: Any, tensor: Any, frame: FrameType | None) -> None:
        user = user_frame(frame)
        record = Record(func, self.journal.next_order(), Site(user.f_code, user.f_lasti) if user else None)
        record.severed = True
        self.records[id(tensor)] = (weakref.ref(tensor), record)
