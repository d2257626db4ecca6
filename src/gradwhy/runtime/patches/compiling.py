"""``torch.compile``: which line asked for it, and whether recorded steps run eager or as they were compiled."""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from gradwhy.runtime import warned
from gradwhy.runtime.sites import Site, is_user_file, user_chain
from gradwhy.runtime.writes import sequence_now
from gradwhy.source import text

if TYPE_CHECKING:
    from gradwhy.runtime.watch import Watch

_CALLS_KEPT = 2_048
# Where a program does one of these, compiled code can fail where the same code run eager does not: it would end another
# way under us than by itself.
_FAILS_COMPILED_ONLY = re.compile(
    r"\b(?:create_graph|retain_graph|fullgraph|is_grads_batched|hessian|jacobian|jacrev|hvp|vhp|gradgradcheck)\b"
)


class CompiledCall(NamedTuple):
    """One call of a compiled function: graph nodes with a number from ``start`` up to ``end`` are its own."""

    start: int
    end: int
    asked: tuple[Site, ...]


class Compiling:
    """What is known of ``torch.compile`` in one program. ``asked`` has the user's lines, the innermost first, of each use."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.asked: list[tuple[Site, ...]] = []
        self.calls: deque[CompiledCall] = deque(maxlen=_CALLS_KEPT)
        self.ran_eager = False
        self.stays_compiled = False
        """Whether compiled calls run as they were compiled while steps are recorded."""
        self._made_eager = False
        self._pending: tuple[Site, ...] = ()

    @property
    def used(self) -> bool:
        return bool(self.asked)

    # -- the patch

    def compile(self, original: Callable[..., Any], args: Any, kwargs: Any, frame: FrameType) -> Any:
        """One call of ``torch.compile``, made for the program."""
        makes = (args[0] if args else kwargs.get("model")) is not None
        if makes:
            self._watch._quietly(self._begin, frame)
        try:
            return original(*args, **kwargs)
        finally:
            self._pending = ()
            if makes:
                self._watch._quietly(self.stance, self._watch.recording)

    def _begin(self, frame: FrameType) -> None:
        self._pending = user_chain(frame, limit=8)
        if self._pending and self._pending not in self.asked[-64:]:
            self.asked.append(self._pending)
        self.stays_compiled = self.stays_compiled or any(
            _FAILS_COMPILED_ONLY.search(program) for program in _programs()
        )
        if self.stays_compiled:
            # The compiler would trace into these.
            self._watch._unpatch(self._watch._module_patches)
        self._listen()

    def _listen(self) -> None:
        """Be called around each compiled call. (torch/_dynamo/eval_frame.py: ``enter_exit_hooks``.)"""
        from torch._dynamo import eval_frame

        context = getattr(eval_frame, "OptimizeContext", None)
        if context is None or hasattr(context.__init__, "_of_gradwhy"):
            return
        compiling = self

        def made(original: Any) -> Any:
            def __init__(made_context: Any, *args: Any, **kwargs: Any) -> None:
                original(made_context, *args, **kwargs)
                hooks = getattr(made_context, "enter_exit_hooks", None)
                if isinstance(hooks, list):
                    asked = compiling._pending
                    hooks.append(lambda: compiling._entered(asked))

            __init__._of_gradwhy = True  # type: ignore[attr-defined]
            return __init__

        self._watch._replace(context, "__init__", made, self._watch._patches)

    # -- around a compiled call

    def _entered(self, asked: tuple[Site, ...]) -> Callable[[], None]:
        undo: list[Callable[[], None]] = []
        self._watch._quietly(lambda: undo.append(self._take_recorder_out()))
        self._watch._quietly(lambda: undo.append(warned.step_aside()))
        start = sequence_now()

        def left() -> None:
            end = sequence_now()
            if asked:
                self.calls.append(CompiledCall(start, end, asked))
            if end > start and self.stays_compiled and self._watch.recording:
                # Its nodes have the line of the call.
                frame = sys._getframe(1)
                self._watch._quietly(self._watch.recorder.nodes.add_number, torch.compile, end - 1, frame)
            for each in undo:
                self._watch._quietly(each)

        return left

    def _take_recorder_out(self) -> Callable[[], None]:
        """The compiler would trace into the recorder, and guard on it."""
        watch, recorder = self._watch, self._watch.recorder
        stack = list(torch.overrides._get_current_function_mode_stack())
        if not self.stays_compiled or recorder not in stack:
            return lambda: None
        place = stack.index(recorder)
        _arrange([mode for mode in stack if mode is not recorder])
        watch._keep_fast_paths(False)

        def back() -> None:
            now = list(torch.overrides._get_current_function_mode_stack())
            if watch.recording and recorder not in now:
                _arrange([*now[:place], recorder, *now[place:]])
                watch._keep_fast_paths(True)

        return back

    # -- eager while recording

    def stance(self, recording: bool) -> None:
        """Run compiled code eager while steps are recorded, or as it was compiled, if it was us who switched it.

        The program may have its own stance; and one that compiled code may fail keeps it compiled.
        """
        eager = recording and not self.stays_compiled
        if self.used and eager != self._made_eager and hasattr(torch.compiler, "set_stance"):
            torch.compiler.set_stance("force_eager" if eager else "default")
            self._made_eager = eager
            self.ran_eager = self.ran_eager or eager


def install(watch: Watch) -> Callable[[], None]:
    """Patch ``torch.compile``; what it saw is in ``watch.compiling``."""

    def make(original: Any) -> Any:
        def compile(*args: Any, **kwargs: Any) -> Any:
            return watch.compiling.compile(original, args, kwargs, sys._getframe(1))

        return compile

    undo: list[Callable[[], None]] = []
    watch._replace(torch, "compile", make, undo)
    return lambda: watch._unpatch(undo)


def _arrange(modes: list[Any]) -> None:
    for _ in range(len(torch.overrides._get_current_function_mode_stack())):
        torch.overrides._pop_mode()
    for mode in modes:
        torch.overrides._push_mode(mode)


def _programs() -> list[str]:
    """The text of the user's files that are loaded."""
    files = {vars(module).get("__file__") for module in list(sys.modules.values()) if isinstance(module, ModuleType)}
    main = [file for file in files if isinstance(file, str) and is_user_file(file) and Path(file).suffix == ".py"]
    sources = [text.read(file) for file in [*main, *text.cells()]]
    return [source.text for source in sources if source is not None]
