"""Lightning: ``Trainer(callbacks=[Gradwhy()])`` tells why a gradient is gone, and audits the first steps if asked to."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from gradwhy.integrations import training
from gradwhy.integrations.training import DoesNotTrain as DoesNotTrain

if TYPE_CHECKING:
    from gradwhy.integrations.telling import To
    from gradwhy.runtime.watch import TraceMode


def _callback() -> Any:
    """Lightning's class: from the package that the program uses, which has two names."""
    try:
        if "pytorch_lightning" in sys.modules and "lightning" not in sys.modules:
            from pytorch_lightning.callbacks import Callback
        else:
            from lightning.pytorch.callbacks import Callback
    except ImportError:
        try:
            from pytorch_lightning.callbacks import Callback
        except ImportError:
            raise ImportError(training.missing("lightning")) from None
    return Callback


class Gradwhy(_callback()):  # type: ignore[misc]
    """Watches ``fit``, ``validate``, ``test`` and ``predict``. An autograd failure in them is told on standard error, below what
    else is said, and the exception goes on.

    ``audit``: account for each parameter in the first half minute of training, and tell what does not train; ``audit_steps``:
    in so many optimizer steps. ``raises``: raise ``DoesNotTrain`` where the audit finds something. ``trace``: as
    ``gradwhy run --trace``. ``to``: a file, or a function of the report. ``language``: "en" or "zh".

    >>> trainer = Trainer(callbacks=[Gradwhy(audit_steps=20)])
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

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self.run.begin()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        self.run.stepped()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self.run.failed(exception)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self.run.end()
