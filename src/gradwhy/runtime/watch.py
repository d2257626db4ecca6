"""Puts the recorder and the journal's hooks in place around a program, and takes them away again."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Literal, TypeAlias

import torch
from torch.autograd import grad_mode
from torch.optim import Optimizer
from torch.optim import optimizer as optimizers
from torch.utils._device import DeviceContext

from gradwhy.runtime.journal import Journal
from gradwhy.runtime.recorder import Recorder
from gradwhy.runtime.sites import is_user_file

TraceMode: TypeAlias = Literal["auto", "always", "never"]

# In ``auto``, full recording ends when each optimizer in use has completed this many steps, and starts again for any
# line of the program that opens something new: a block without gradients, an optimizer, a loop over parameters.
_STEPS_IN_FULL = 2
_STEPS_AT_MOST = 50
_OPERATIONS_AT_MOST = 300_000

_OPTIMIZER_FILE = Optimizer.zero_grad.__code__.co_filename

_active: Watch | None = None


def active() -> Watch | None:
    """The watch that is in place in this process, if one is."""
    return _active


class Watch:
    """Everything that listens to one program. ``start`` and ``stop`` are each safe to call once."""

    def __init__(self, trace: TraceMode = "auto") -> None:
        self.trace: TraceMode = trace
        self.journal = Journal()
        self.recorder = Recorder(self.journal)
        self.recording = False
        self.compiled = False
        self.on_step: Callable[[Optimizer], None] | None = None
        self._thread = threading.get_ident()
        self._suspended_at: int | None = None
        self._patches: list[Callable[[], None]] = []
        self._module_patches: list[Callable[[], None]] = []
        self._path_patches: list[Callable[[], None]] = []
        self._seen: set[tuple[int, int]] = set()
        self._steps: dict[int, int] = {}
        self._operations_from = 0

    def start(self) -> None:
        global _active
        _active = self
        self._patch_grad_modes()
        self._patch_optimizers()
        self._patch_modules()
        self._patch_compile()
        os.register_at_fork(after_in_child=self._forked)
        if self.trace != "never":
            self._record(True)

    def stop(self) -> None:
        global _active
        self._record(False)
        for patches in (self._path_patches, self._module_patches, self._patches):
            self._unpatch(patches)
        if _active is self:
            _active = None

    def _forked(self) -> None:
        # A worker of a data loader has a copy of everything and nobody to report to.
        self.recorder.active = False
        self.trace = "never"

    # -- the recorder on torch's stack of modes

    def _record(self, on: bool) -> None:
        """Put the recorder under the user's own modes or take it out, so that theirs nest as they were written."""
        if on == self.recording or threading.get_ident() != self._thread:
            return
        stack = torch.overrides._get_current_function_mode_stack()
        if on or self.recorder in stack:
            above = [torch.overrides._pop_mode() for _ in range(len(stack))]
            kept = [mode for mode in reversed(above) if mode is not self.recorder]
            # A default device insists on the lowest place (torch/utils/_device.py, DeviceContext.__exit__).
            place = sum(isinstance(mode, DeviceContext) for mode in kept[:1]) if on else len(kept)
            for mode in [*kept[:place], self.recorder, *kept[place:]] if on else kept:
                torch.overrides._push_mode(mode)
        self.recording = on
        self._suspended_at = None
        self._keep_fast_paths(on)
        self._stance(on)
        if on:
            self._steps.clear()
            self._operations_from = self.recorder.operations
        elif self.compiled:
            # The compiler would trace into these.
            self._unpatch(self._module_patches)

    def _novel(self, frame: FrameType | None) -> None:
        """Record in full again when the program does something from a line that it hasn't been on before."""
        while frame is not None and not is_user_file(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is None:
            return
        key = (id(frame.f_code), frame.f_lasti)
        if key not in self._seen:
            self._seen.add(key)
            self._steps.clear()
            self._operations_from = self.recorder.operations
            if self.trace == "auto" and not self.recording:
                self._record(True)

    def _stepped(self, optimizer: Optimizer) -> None:
        self.journal.steps += 1
        self.recorder.trim_lines()
        if self.trace != "auto" or not self.recording:
            return
        steps = self._steps
        steps[id(optimizer)] = steps.get(id(optimizer), 0) + 1
        alive = {id(o) for record in self.journal.optimizers if (o := record.reference()) is not None}
        if all(steps.get(key, 0) >= _STEPS_IN_FULL for key in alive) or max(steps.values()) >= _STEPS_AT_MOST:
            self._record(False)
        elif self.recorder.operations - self._operations_from > _OPERATIONS_AT_MOST:
            self._record(False)

    # -- narrow patches: what a mode can't see, and what must be seen without one

    def _replace(self, owner: Any, name: str, make: Callable[[Any], Any], undo: list[Callable[[], None]]) -> None:
        original = vars(owner)[name] if isinstance(owner, type) else getattr(owner, name)
        patched = make(original)
        patched.__name__ = getattr(original, "__name__", name)
        patched.__qualname__ = getattr(original, "__qualname__", name)
        patched.__doc__ = original.__doc__
        patched.__module__ = getattr(original, "__module__", None)
        patched.__wrapped__ = original
        setattr(owner, name, patched)
        undo.append(lambda: setattr(owner, name, original))

    @staticmethod
    def _unpatch(undo: list[Callable[[], None]]) -> None:
        while undo:
            undo.pop()()

    def _patch_grad_modes(self) -> None:
        journal = self.journal
        closing = False

        def enter(kind: Any, enables: Callable[[Any], bool]) -> Callable[[Any], Any]:
            def make(original: Any) -> Any:
                def __enter__(self_: Any) -> Any:
                    result = original(self_)
                    frame = sys._getframe(1)
                    self._novel(frame)
                    journal.open_scope(kind, self_, enables(self_), frame, entered=True)
                    return result

                return __enter__

            return make

        def leave(original: Any) -> Any:
            def __exit__(self_: Any, *reason: Any) -> Any:
                nonlocal closing
                closing = True
                try:
                    return original(self_, *reason)
                finally:
                    closing = False
                    journal.close_scope(self_, reason[1] if len(reason) > 1 else None)

            return __exit__

        def called(original: Any) -> Any:
            def __init__(self_: Any, mode: bool) -> None:
                original(self_, mode)
                frame = sys._getframe(1)
                # step() switches off and on in pairs.
                if not closing and frame.f_code.co_filename != _OPTIMIZER_FILE:
                    self._novel(frame)
                    journal.open_scope("set_grad_enabled", self_, bool(mode), frame, entered=False)

            return __init__

        def entered(original: Any) -> Any:
            def __enter__(self_: Any) -> Any:
                result = original(self_)
                journal.enter_scope(self_)
                return result

            return __enter__

        def decorating(original: Any) -> Any:
            def __call__(self_: Any, function: Any) -> Any:
                journal.close_scope(self_)
                return original(self_, function)

            return __call__

        for kind, enables in (
            ("no_grad", lambda scope: False),
            ("enable_grad", lambda scope: True),
            ("inference_mode", lambda scope: not scope.mode),
        ):
            context = getattr(grad_mode, kind)
            self._replace(context, "__enter__", enter(kind, enables), self._patches)
            self._replace(context, "__exit__", leave, self._patches)
        self._replace(grad_mode.set_grad_enabled, "__init__", called, self._patches)
        self._replace(grad_mode.set_grad_enabled, "__enter__", entered, self._patches)
        self._replace(grad_mode.set_grad_enabled, "__exit__", leave, self._patches)
        self._replace(grad_mode.set_grad_enabled, "__call__", decorating, self._patches)

    def _patch_optimizers(self) -> None:
        def made(original: Any) -> Any:
            def __init__(self_: Any, *args: Any, **kwargs: Any) -> None:
                original(self_, *args, **kwargs)
                self._novel(sys._getframe(1))
                self.journal.optimizer_made(self_, sys._getframe(1))

            return __init__

        def zeroed(original: Any) -> Any:
            def zero_grad(self_: Any, *args: Any, **kwargs: Any) -> Any:
                self._suspend(True)
                try:
                    return original(self_, *args, **kwargs)
                finally:
                    self._suspend(False)

            return zero_grad

        self._replace(Optimizer, "__init__", made, self._patches)
        self._replace(Optimizer, "zero_grad", zeroed, self._patches)
        before = optimizers.register_optimizer_step_pre_hook(self._before_step)
        after = optimizers.register_optimizer_step_post_hook(self._after_step)
        self._patches += [before.remove, after.remove]

    def _before_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        # A closure runs the model inside step(): that must be seen.
        if len(args) < 2 and kwargs.get("closure") is None:
            self._suspend(True)

    def _after_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        self._suspend(False)
        self._stepped(optimizer)
        if self.on_step is not None:
            self.on_step(optimizer)

    def _suspend(self, on: bool) -> None:
        """Take the recorder off the stack while torch's own optimizer code runs: nothing in there concerns a graph."""
        if not self.recording or on == (self._suspended_at is not None) or threading.get_ident() != self._thread:
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
                    self._novel(frame)
                return original(*args, **kwargs)

            return method

        for name in ("train", "eval", "requires_grad_", "parameters", "named_parameters", "modules", "children"):
            self._replace(torch.nn.Module, name, noticed, self._module_patches)

    def _keep_fast_paths(self, on: bool) -> None:
        """Let torch choose the same kernels as without us.

        ``nn.TransformerEncoderLayer`` and ``nn.MultiheadAttention`` ask ``torch.overrides.has_torch_function`` and take
        another path, with other rounding, when a mode is on (torch/nn/modules/transformer.py, activation.py).
        """
        recorder = self.recorder

        def honest(original: Any) -> Any:
            def has_torch_function(relevant: Any) -> bool:
                if torch.overrides._get_current_function_mode_stack() != [recorder]:
                    return bool(original(relevant))
                torch.overrides._pop_mode()
                try:
                    return bool(original(relevant))
                finally:
                    torch.overrides._push_mode(recorder)

            return has_torch_function

        self._unpatch(self._path_patches)
        if on:
            self._replace(torch.overrides, "has_torch_function", honest, self._path_patches)

    # -- torch.compile: recorded steps run eager

    def _patch_compile(self) -> None:
        def compiling(original: Any) -> Any:
            def compile(*args: Any, **kwargs: Any) -> Any:
                result = original(*args, **kwargs)
                if not self.compiled:
                    self.compiled = True
                    self._stance(self.recording)
                return result

            return compile

        self._replace(torch, "compile", compiling, self._patches)

    def _stance(self, eager: bool) -> None:
        if self.compiled and hasattr(torch.compiler, "set_stance"):
            torch.compiler.set_stance("force_eager" if eager else "default")
