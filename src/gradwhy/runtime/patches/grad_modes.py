"""The four classes that switch gradients on and off: who switches, where, and until when."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from torch.autograd import grad_mode
from torch.optim import optimizer as optimizers

from gradwhy.runtime.journal import ScopeKind

if TYPE_CHECKING:
    from gradwhy.runtime.watch import Watch

_OPTIMIZER_FILE = optimizers.__file__


def install(watch: Watch) -> Callable[[], None]:
    undo: list[Callable[[], None]] = []
    # The contexts switch through set_grad_enabled themselves: such inner calls are not somebody's.
    inside = False

    def opened(kind: ScopeKind, scope: object, enables: bool, frame: FrameType, entered: bool) -> None:
        watch._novel(frame, enables)
        watch.journal.open_scope(kind, scope, enables, frame, entered)

    def enter(kind: ScopeKind, enables: Callable[[Any], bool]) -> Callable[[Any], Any]:
        def make(original: Any) -> Any:
            def __enter__(scope: Any) -> Any:
                nonlocal inside
                inside = True
                try:
                    result = original(scope)
                finally:
                    inside = False
                watch._quietly(opened, kind, scope, enables(scope), sys._getframe(1), True)
                return result

            return __enter__

        return make

    def leave(original: Any) -> Any:
        def __exit__(scope: Any, *reason: Any) -> Any:
            nonlocal inside
            inside = True
            try:
                return original(scope, *reason)
            finally:
                inside = False
                watch._quietly(watch.journal.close_scope, scope, reason[1] if len(reason) > 1 else None)

        return __exit__

    def called(original: Any) -> Any:
        def __init__(scope: Any, mode: bool) -> None:
            original(scope, mode)
            frame = sys._getframe(1)
            # step() switches off and on in pairs.
            if not inside and frame.f_code.co_filename != _OPTIMIZER_FILE:
                watch._quietly(opened, "set_grad_enabled", scope, bool(mode), frame, False)

        return __init__

    def entered(original: Any) -> Any:
        def __enter__(scope: Any) -> Any:
            result = original(scope)
            watch._quietly(watch.journal.enter_scope, scope)
            return result

        return __enter__

    def decorating(original: Any) -> Any:
        def __call__(scope: Any, function: Any) -> Any:
            watch._quietly(watch.journal.close_scope, scope)
            return original(scope, function)

        return __call__

    kinds: dict[ScopeKind, Callable[[Any], bool]] = {
        "no_grad": lambda scope: False,
        "enable_grad": lambda scope: True,
        "inference_mode": lambda scope: not scope.mode,
    }
    for kind, enables in kinds.items():
        context = getattr(grad_mode, kind)
        watch._replace(context, "__enter__", enter(kind, enables), undo)
        watch._replace(context, "__exit__", leave, undo)
    for name, make in (
        ("__init__", called),
        ("__enter__", entered),
        ("__exit__", leave),
        ("__call__", decorating),
    ):
        watch._replace(grad_mode.set_grad_enabled, name, make, undo)
    return lambda: watch._unpatch(undo)
