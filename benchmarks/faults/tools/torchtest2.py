"""torchtest2: ``check_model`` with the program's own model, batch, loss and optimizer, put in front of a training step.

A check that fails is a statement, and so is one that warns, of a lower rank: the tool's own verdict on a model is that nothing
fails. It names no lines.
"""

from __future__ import annotations

import re
from pathlib import Path

from answers import HERE, Answer, Case, Said, stated
from calls import called, plain

ABOUT = "`torchtest2.check_model(model, inputs, targets, loss_fn=…, optimizer=…)`, written for each case (`calls/`)"
PACKAGE = "torchtest2"
WAYS = ("torchtest2",)
PRELOAD = ("torchtest2",)

# What its messages give as reasons, most of them several at once.
REASONS = (
    (r"unused in forward", "module-unused"),
    (r"\.detach\(\)", "detach"),
    (r"\.item\(\)", "item"),
    (r"NumPy round-trip", "numpy-roundtrip"),
    (r"no_grad", "no_grad-context"),
    (r"layers replaced after", "stale-optimizer"),
    (r"is a leaf tensor: it was re-created", "requires-grad-on-loss"),
    (r"every parameter is frozen|no trainable parameter", "frozen-all"),
)


def reasons(message: str) -> tuple[str, ...]:
    """Its own reasons, or those of an exception of torch that it passes on."""
    if " raised " in message or message.startswith("raised "):
        return stated(message)
    return tuple(cause for pattern, cause in REASONS if re.search(pattern, message))


def examine(program: Path, case: Case, way: str) -> Answer:
    rows, answer = called(program, case, HERE / "tools" / "_torchtest2.py")
    if answer is not None:
        return answer
    return Answer(
        plain(
            [
                Said(None, reasons(message), f"{name}: {message}", status == "FAIL")
                for name, status, message in rows
                if status in ("FAIL", "WARN")
            ]
        )
    )
