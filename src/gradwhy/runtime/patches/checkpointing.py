"""``torch.utils.checkpoint``: who called it, and what its function did in the forward pass and when it was run again."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch
from torch.optim import optimizer as optimizers
from torch.utils import checkpoint

from gradwhy.runtime.sites import Site, user_chain
from gradwhy.runtime.trails import CHAIN_LIMIT, Trail

if TYPE_CHECKING:
    from gradwhy.runtime.watch import Watch

TRACED = True

_MODULES_AT_MOST = 2_000
_SUSPECTS_AT_MOST = 32


class Checkpointed:
    """One call of a checkpoint without reentrant autograd. ``forward`` and ``again`` are None where nothing was recorded."""

    def __init__(self, chain: tuple[Site, ...], order: int, function: Any) -> None:
        self.chain = chain
        self.order = order
        self.training = tuple((weakref.ref(m), bool(m.training)) for m in _modules_of(function))
        self.forward: Trail | None = None
        self.again: Trail | None = None


class Checkpointing:
    """What is known of each checkpoint whose graph is alive, by torch's own object for it."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.calls: weakref.WeakKeyDictionary[Any, Checkpointed] = weakref.WeakKeyDictionary()
        self.frozen_input: list[FrozenInput] = []
        self._hooks: dict[int, _Hook] = {}

    # -- without reentrant autograd (torch/utils/checkpoint.py: _CheckpointFrame, _checkpoint_hook, _recomputation_hook)

    def begin(self, hook: Any, frame: Any, again: bool, caller: FrameType) -> None:
        if frame is None:
            return
        chain = user_chain(caller, limit=CHAIN_LIMIT)
        if not again:
            self.calls[frame] = Checkpointed(chain, self._watch.journal.next_order(), function_of(frame))
        call = self.calls.get(frame)
        if call is not None:
            self._hooks[id(hook)] = _Hook(call, again, len(chain))

    def enter(self, hook: Any) -> None:
        known = self._hooks.get(id(hook))
        if known is None or not self._watch.recording:
            return
        recorder = self._watch.recorder
        known.trail = Trail(self._watch.journal.next_order(), known.outside)
        if known.again:
            known.call.again = known.trail
            # Backward runs with the mode off (torch/overrides.py, handle_torch_function).
            if recorder not in torch.overrides._get_current_function_mode_stack():
                torch.overrides._push_mode(recorder)
                known.pushed = True
        else:
            known.call.forward = known.trail
        recorder.trails.append(known.trail)

    def leave(self, hook: Any) -> None:
        known = self._hooks.pop(id(hook), None)
        if known is None:
            return
        recorder = self._watch.recorder
        recorder.trails = [each for each in recorder.trails if each is not known.trail]
        if known.pushed and torch.overrides._get_current_function_mode() is recorder:
            torch.overrides._pop_mode()

    # -- reentrant: its function runs with gradients off, and there is no path where no input requires grad

    def reentrant(self, function: Any, inputs: Any, caller: FrameType) -> FrozenInput | None:
        """What torch warns of, while the function runs: what it uses is followed."""
        watch, scope = self._watch, self._watch.journal.scope
        if any(isinstance(each, torch.Tensor) and each.requires_grad for each in inputs) or not watch.recording:
            return None
        chain = user_chain(caller)
        known = any(each.chain == chain for each in self.frozen_input)
        if (
            (scope is not None and not scope.enables)
            or not chain
            or known
            or len(self.frozen_input) >= _SUSPECTS_AT_MOST
        ):
            return None
        if not any(module.training for module in _modules_of(function)):
            return None
        found = FrozenInput(chain, Trail(watch.journal.next_order()))
        self.frozen_input.append(found)
        watch.recorder.trails.append(found.trail)
        return found

    def ran(self, found: FrozenInput) -> None:
        recorder = self._watch.recorder
        recorder.trails = [trail for trail in recorder.trails if trail is not found.trail]

    def stepping(self, optimizer: Any, frame: FrameType) -> None:
        """The first step after such a checkpoint shows whether what it used was left without a gradient."""
        waiting = [each for each in self.frozen_input if not each.judged]
        if waiting:
            # To read a gradient is a torch function too.
            with torch._C.DisableTorchFunction():
                self._judge(waiting, optimizer, frame)

    def _judge(self, waiting: list[FrozenInput], optimizer: Any, frame: FrameType) -> None:
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        for found in waiting:
            inside = [p for p in parameters if id(p) in found.trail.parameters and p.requires_grad]
            if not inside:
                continue
            found.judged = True
            if all(p.grad is None for p in inside) and any(p.grad is not None for p in parameters):
                from gradwhy.runtime.probes import checkpoint_no_grad

                self._watch.silent += checkpoint_no_grad.look(found, inside, frame, self._watch)


class _Hook:
    """What is followed between a hook's ``__enter__`` and ``__exit__``."""

    def __init__(self, call: Checkpointed, again: bool, outside: int) -> None:
        self.call = call
        self.again = again
        self.outside = outside
        self.trail: Trail | None = None
        self.pushed = False


class FrozenInput:
    """A reentrant checkpoint none of whose inputs required grad, and what it used."""

    def __init__(self, chain: tuple[Site, ...], trail: Trail) -> None:
        self.chain = chain
        self.trail = trail
        self.judged = False


def function_of(frame: Any) -> Any:
    """The checkpointed function of a ``_CheckpointFrame``, from the closure of what torch calls to run it again."""
    return cell_of(getattr(frame, "recompute_fn", None), "fn")


def cell_of(function: Any, name: str) -> Any:
    """The value of a closure's variable, None where there is none."""
    code = getattr(function, "__code__", None)
    cells = getattr(function, "__closure__", None) or ()
    for variable, cell in zip(code.co_freevars if code is not None else (), cells):
        if variable == name:
            try:
                return cell.cell_contents
            except ValueError:
                return None
    return None


def _modules_of(function: Any) -> list[Any]:
    """The modules that a checkpointed function is or holds, with those inside them, each once."""
    found: list[Any] = []
    seen: set[int] = set()
    for module in modules_held(function):
        stack = [module]
        while stack and len(found) < _MODULES_AT_MOST:
            each = stack.pop()
            if each is not None and id(each) not in seen:
                seen.add(id(each))
                found.append(each)
                stack.extend(each._modules.values())
    return found


def modules_held(function: Any, depth: int = 3) -> list[Any]:
    """The modules that a function is, is a method of, or refers to: closures, ``functools.partial``, lists."""
    if issubclass(type(function), torch.nn.Module):
        return [function]
    inside: list[Any] = []
    if depth > 0:
        if type(function) in (list, tuple):
            inside = list(function[:256])
        elif callable(function) and type(function).__name__ in ("method", "partial", "function"):
            inside = [
                getattr(function, "__self__", None),
                getattr(function, "func", None),
                *getattr(function, "args", ()),
            ]
            for cell in getattr(function, "__closure__", None) or ():
                try:
                    inside.append(cell.cell_contents)
                except ValueError:
                    continue
    return [module for each in inside if each is not None for module in modules_held(each, depth - 1)]


def install(watch: Watch) -> Callable[[], None]:
    """Patch the hooks of both kinds of checkpoint; what they did is in ``watch.checkpointing``."""
    undo: list[Callable[[], None]] = []
    log = watch.checkpointing

    def made(again: bool) -> Callable[[Any], Any]:
        def make(original: Any) -> Any:
            def __init__(hook: Any, frame: Any, *args: Any, **kwargs: Any) -> None:
                original(hook, frame, *args, **kwargs)
                target = frame() if isinstance(frame, weakref.ref) else frame
                watch._quietly(log.begin, hook, target, again, sys._getframe(1))

            return __init__

        return make

    def entering(original: Any) -> Any:
        def __enter__(hook: Any) -> Any:
            watch._quietly(log.enter, hook)
            return original(hook)

        return __enter__

    def leaving(original: Any) -> Any:
        def __exit__(hook: Any, *reason: Any) -> Any:
            try:
                return original(hook, *reason)
            finally:
                watch._quietly(log.leave, hook)

        return __exit__

    def forwarding(original: Any) -> Any:
        inner = original.__func__

        def forward(ctx: Any, run_function: Any, preserve_rng_state: Any, *inputs: Any) -> Any:
            found: list[FrozenInput | None] = []
            watch._quietly(lambda: found.append(log.reentrant(run_function, inputs, sys._getframe(2))))
            try:
                return inner(ctx, run_function, preserve_rng_state, *inputs)
            finally:
                for each in found:
                    if each is not None:
                        watch._quietly(log.ran, each)

        return staticmethod(forward)

    for name, again in (("_checkpoint_hook", False), ("_recomputation_hook", True)):
        hook = getattr(checkpoint, name, None)
        if hook is None:
            continue
        watch._replace(hook, "__init__", made(again), undo)
        for method, make in (("__enter__", entering), ("__exit__", leaving)):
            setattr(hook, method, make(getattr(hook, method)))
            undo.append(lambda hook=hook, method=method: delattr(hook, method))  # type: ignore[misc]
    watch._replace(checkpoint.CheckpointFunction, "forward", forwarding, undo)

    def before_step(optimizer: Any, args: Any, kwargs: Any) -> None:
        watch._quietly(log.stepping, optimizer, sys._getframe(1))

    undo.append(optimizers.register_optimizer_step_pre_hook(before_step).remove)
    return lambda: watch._unpatch(undo)
