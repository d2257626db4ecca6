"""transformers: ``Trainer(callbacks=[Gradwhy()])`` tells why a gradient is gone, and audits the first steps if asked to."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradwhy.integrations import training
from gradwhy.integrations.training import DoesNotTrain as DoesNotTrain

if TYPE_CHECKING:
    from gradwhy.integrations.telling import To
    from gradwhy.runtime.watch import TraceMode

try:
    from transformers import Trainer, TrainerCallback
except ImportError:
    raise ImportError(training.missing("transformers")) from None


class Gradwhy(TrainerCallback):  # type: ignore[misc]
    """Watches ``Trainer.train``. An autograd failure in it is told on standard error, and the exception goes on.

    The options are those of ``gradwhy.integrations.lightning.Gradwhy``. A callback of transformers is not told of exceptions:
    while one of these is alive, ``Trainer.train`` is wrapped, and the wrapper looks for it among the trainer's callbacks.

    >>> trainer = Trainer(model=model, args=args, train_dataset=data, callbacks=[Gradwhy(audit_steps=20)])
    """

    def __init__(
        self,
        *,
        audit: bool = False,
        audit_steps: int | None = None,
        raises: bool = False,
        trace: TraceMode = "auto",
        to: To = None,
        language: str | None = None,
    ) -> None:
        super().__init__()
        self.run = training.Run(
            trace=trace, audit=audit, audit_steps=audit_steps, raises=raises, to=to, language=language
        )
        _living.add(self)
        _wrap()
        weakref.finalize(self, _unwrap).atexit = False

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.run.stepped()


_living: weakref.WeakSet[Gradwhy] = weakref.WeakSet()
_undo: list[Callable[[], None]] = []


def _wrap() -> None:
    if _undo:
        return
    original = Trainer.train

    @functools.wraps(original)
    def train(trainer: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        handler = getattr(trainer, "callback_handler", None)
        runs = [each.run for each in getattr(handler, "callbacks", ()) if isinstance(each, Gradwhy)]
        for run in runs:
            run.begin()
        try:
            result = original(trainer, *args, **kwargs)
        except BaseException as error:
            for run in runs:
                run.failed(error)
            raise
        for run in runs:
            run.end()
        return result

    Trainer.train = train

    def undo() -> None:
        # Another wrapper may have come since: it has ours inside, which does nothing without a callback.
        if Trainer.train is train:
            Trainer.train = original

    _undo.append(undo)


def _unwrap() -> None:
    # One that is dying is still counted, and not iterated over.
    if not any(True for _ in _living):
        while _undo:
            _undo.pop()()
