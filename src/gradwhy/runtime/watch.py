"""Puts the recorder and the journal's hooks in place around a program, and takes them away again."""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any, Literal, TypeAlias

import torch
from torch.optim import Optimizer
from torch.optim import optimizer as optimizers
from torch.utils._device import DeviceContext

from gradwhy.findings import Finding
from gradwhy.runtime.classes import function_of
from gradwhy.runtime.journal import Journal
from gradwhy.runtime.patches import (
    Patch,
    all_patches,
    checkpointing,
    compiling,
    following,
    nonfinite,
    parallel,
    ranks,
    scaling,
    switching,
    unwatched,
)
from gradwhy.runtime.recorder import Recorder
from gradwhy.runtime.records import Record
from gradwhy.runtime.sites import user_frame

TraceMode: TypeAlias = Literal["auto", "always", "never"]

# In ``auto``, full recording ends when each optimizer in use has completed this many steps and nothing new has happened
# for this long, and starts again for any line of the program that opens something new: a block without gradients, an
# optimizer, a loop over parameters.
_STEPS_IN_FULL = 2
SECONDS_IN_FULL = 30.0
_STEPS_AT_MOST = 50


_started: weakref.WeakSet[Watch] = weakref.WeakSet()
"""What is to be told of a fork: Python's own list of whom to tell can't be shortened (``os.register_at_fork``)."""


def _forked() -> None:
    # A worker of a data loader has a copy of everything and nobody to report to.
    for watch in _started:
        watch.recorder.active = False
        watch.trace = "never"


os.register_at_fork(after_in_child=_forked)


class Watch:
    """Everything that listens to one program. ``start`` and ``stop`` are each safe to call once."""

    def __init__(self, trace: TraceMode = "auto", seconds_in_full: float = SECONDS_IN_FULL, nan: bool = False) -> None:
        self.seconds_in_full = seconds_in_full
        self.trace: TraceMode = trace
        self.journal = Journal()
        self.recorder = Recorder(self.journal)
        self.recorder.on_leaf_loss = self._leaf_loss
        self.recording = False
        self.was_recording = False
        """Whether steps were recorded when the program ended."""
        self.compiling = compiling.Compiling(self)
        self.scaling = scaling.Scaling(self)
        self.switching = switching.Switching(self)
        self.checkpointing = checkpointing.Checkpointing(self)
        self.parallel = parallel.Parallel(self)
        self.following = following.Following(self)
        self.unwatched = unwatched.Unwatched()
        self.silent: list[Finding] = []
        self.nan = nan
        self.trouble: nonfinite.Trouble | None = None
        self.warned: dict[tuple[str, int, int], list[Finding]] = {}
        self.aside = 0
        """The thread in which what happens now is gradwhy's own doing."""
        self.thread = threading.get_ident()
        self._suspended_at: int | None = None
        self._patches: list[Callable[[], None]] = []
        self._module_patches: list[Callable[[], None]] = []
        self._path_patches: list[Callable[[], None]] = []
        self._seen: set[tuple[int, int, object]] = set()
        self._steps: dict[int, int] = {}
        self._recording_since = 0.0

    def start(self) -> None:
        # What does not fit a version of torch is one thing less to see, and the rest is seen all the same.
        for patch in (self._patch_optimizers, self._patch_modules):
            self._quietly(patch)
        for load in all_patches():
            self._quietly(self._install, load)
        _started.add(self)
        if self.trace != "never":
            self._record(True)

    def _install(self, load: Callable[[], Patch]) -> None:
        patch = load()
        kept = self._module_patches if getattr(patch, "TRACED", False) else self._patches
        kept.append(patch.install(self))

    def patch_as_rank(self) -> None:
        """This process is one rank of several, which it, or the parent that forked it, was not before."""
        self.thread = threading.get_ident()
        self._patches.append(ranks.install(self))

    def _leaf_loss(self, tensor: Any, record: Record, frame: FrameType) -> None:
        # One such loss says it all; each further step would say it again.
        if not self.silent:
            from gradwhy.runtime.probes import silent_leaf_loss

            self.silent = silent_leaf_loss.look(tensor, record, frame, self)

    def stop(self) -> None:
        self.was_recording = self.was_recording or self.recording
        self._record(False)
        for patches in (self._path_patches, self._module_patches, self._patches):
            self._unpatch(patches)

    # -- the recorder on torch's stack of modes

    def _record(self, on: bool) -> None:
        """Put the recorder under the user's own modes or take it out, so that theirs nest as they were written."""
        if on == self.recording or threading.get_ident() != self.thread:
            return
        self._place(on)
        self.recording = on
        self._suspended_at = None
        self._keep_fast_paths(on)
        self.compiling.stance(on)
        if on:
            self._begin_count()
        elif self.compiling.used:
            # The compiler would trace into these.
            self._unpatch(self._module_patches)

    def _place(self, on: bool) -> None:
        stack = torch.overrides._get_current_function_mode_stack()
        if on or self.recorder in stack:
            above = [torch.overrides._pop_mode() for _ in range(len(stack))]
            kept = [mode for mode in reversed(above) if mode is not self.recorder]
            # A default device insists on the lowest place (torch/utils/_device.py, DeviceContext.__exit__).
            place = sum(isinstance(mode, DeviceContext) for mode in kept[:1]) if on else len(kept)
            for mode in [*kept[:place], self.recorder, *kept[place:]] if on else kept:
                torch.overrides._push_mode(mode)

    def _novel(self, frame: FrameType | None, what: object = None) -> None:
        """Record in full again when a line of the program does something that it hasn't done before."""
        frame = user_frame(frame)
        if frame is None:
            return
        key = (id(frame.f_code), frame.f_lasti, what)
        if key not in self._seen:
            self._seen.add(key)
            self._begin_count()
            if self.trace == "auto" and not self.recording:
                self._record(True)

    def _stepped(self, optimizer: Optimizer, frame: FrameType) -> None:
        self.journal.optimizer_stepped(optimizer, frame)
        if self.trace != "auto" or not self.recording:
            return
        steps = self._steps
        steps[id(optimizer)] = steps.get(id(optimizer), 0) + 1
        if time.monotonic() - self._recording_since < self.seconds_in_full:
            return
        alive = {id(o) for record in self.journal.optimizers if (o := record.reference()) is not None}
        if all(steps.get(key, 0) >= _STEPS_IN_FULL for key in alive) or max(steps.values()) >= _STEPS_AT_MOST:
            self._record(False)

    def _begin_count(self) -> None:
        self._steps.clear()
        self._recording_since = time.monotonic()

    # -- narrow patches: what a mode can't see, and what must be seen without one

    def _replace(self, owner: Any, name: str, make: Callable[[Any], Any], undo: list[Callable[[], None]]) -> None:
        original = vars(owner)[name] if isinstance(owner, type) else getattr(owner, name)
        patched = make(original)
        functools.update_wrapper(getattr(patched, "__func__", patched), getattr(original, "__func__", original))
        setattr(owner, name, patched)
        undo.append(lambda: setattr(owner, name, original))

    @staticmethod
    def _unpatch(undo: list[Callable[[], None]]) -> None:
        while undo:
            undo.pop()()

    def _quietly(self, do: Callable[..., None], *args: Any) -> None:
        """Do something of ours inside the program's own call: what fails is noted and never raised."""
        try:
            if self.aside != threading.get_ident():
                do(*args)
        except Exception as fault:
            self.recorder.note_fault(fault)

    def _made(self, optimizer: Optimizer, frame: FrameType) -> None:
        self.journal.optimizer_made(optimizer, frame)
        # Another optimizer trains something else, even where the line is an old one.
        self._novel(frame, self.journal.order)

    def _patch_optimizers(self) -> None:
        def made(original: Any) -> Any:
            def __init__(optimizer: Any, *args: Any, **kwargs: Any) -> None:
                original(optimizer, *args, **kwargs)
                self._quietly(self._made, optimizer, sys._getframe(1))

            return __init__

        def zeroed(original: Any) -> Any:
            def zero_grad(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
                self._quietly(self.journal.optimizer_cleared, optimizer)
                self._quietly(self._suspend, True)
                try:
                    return original(optimizer, *args, **kwargs)
                finally:
                    self._quietly(self._suspend, False)

            return zero_grad

        self._replace(Optimizer, "__init__", made, self._patches)
        self._replace(Optimizer, "zero_grad", zeroed, self._patches)
        before = optimizers.register_optimizer_step_pre_hook(self._before_step)
        after = optimizers.register_optimizer_step_post_hook(self._after_step)
        self._patches += [before.remove, after.remove]

    def _before_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        # A closure runs the model inside step(): that must be seen.
        if (args[1] if len(args) > 1 else kwargs.get("closure")) is None:
            self._quietly(self._suspend, True)

    def _after_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        self._quietly(self._suspend, False)
        self._quietly(self._stepped, optimizer, sys._getframe(1))

    def _suspend(self, on: bool) -> None:
        """Take the recorder off the stack while torch's own optimizer code runs: nothing in there concerns a graph."""
        if not self.recording or on == (self._suspended_at is not None) or threading.get_ident() != self.thread:
            return
        if on:
            if torch.overrides._get_current_function_mode() is self.recorder:
                torch.overrides._pop_mode()
                self._suspended_at = torch._C._len_torch_function_stack()
        elif torch._C._len_torch_function_stack() == self._suspended_at:
            torch.overrides._push_mode(self.recorder)
            self._suspended_at = None

    def _patch_modules(self) -> None:
        """Lines that touch modules as a whole mark a new part of the program: freezing, evaluation, a new loop."""
        inside_torch = torch.nn.Module.train.__code__.co_filename

        def noticed(original: Any) -> Any:
            def method(*args: Any, **kwargs: Any) -> Any:
                frame = sys._getframe(1)
                if frame.f_code.co_filename != inside_torch:
                    self._quietly(self._novel, frame)
                return original(*args, **kwargs)

            return method

        def applied(original: Any) -> Any:
            inner = function_of(original)

            def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
                result = inner(cls, *args, **kwargs)
                if self.recording:
                    self._quietly(self.recorder.applied, cls, result, sys._getframe(1))
                return result

            return classmethod(apply)

        self._replace(torch.autograd.Function, "apply", applied, self._module_patches)
        for name in (
            "train",
            "eval",
            "requires_grad_",
            "parameters",
            "named_parameters",
            "modules",
            "children",
        ):
            self._replace(torch.nn.Module, name, noticed, self._module_patches)

    def _keep_fast_paths(self, on: bool) -> None:
        """Let torch choose the same kernels as without us.

        ``nn.TransformerEncoderLayer`` and ``nn.MultiheadAttention`` ask ``torch.overrides.has_torch_function`` and take
        another path, with other rounding, when a mode is on (torch/nn/modules/transformer.py, activation.py).
        """
        recorder = self.recorder

        def honest(original: Any) -> Any:
            def has_torch_function(relevant: Any) -> bool:
                stack = list(torch.overrides._get_current_function_mode_stack())
                # An audit inside a program that is watched has a recorder of its own.
                if recorder not in stack or not all(isinstance(mode, Recorder) for mode in stack):
                    return bool(original(relevant))
                for _ in stack:
                    torch.overrides._pop_mode()
                try:
                    return bool(original(relevant))
                finally:
                    for mode in stack:
                        torch.overrides._push_mode(mode)

            return has_torch_function

        self._unpatch(self._path_patches)
        if on:
            self._replace(torch.overrides, "has_torch_function", honest, self._path_patches)
