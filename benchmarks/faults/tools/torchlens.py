"""TorchLens: a trace of one training step with its gradients, and the audits of the trace and of the gradients.

It shows each operation of the step with its line; what it says are modules that never ran, gradients that its audit flags,
and what the audit of the trace finds. Lines of a loss that is computed in the training loop itself can't be shown. Its audit of
parameters is left out: it warns of each norm layer that has its first weights.
"""

from __future__ import annotations

from pathlib import Path

from answers import HERE, Answer, Case, Said, stated
from calls import called, plain

ABOUT = "`trace`, `log_backward`, `gradient_flow_audit_rows`, `audit_trace` on the step of `calls/`"
PACKAGE = "torchlens"
WAYS = ("TorchLens",)
PRELOAD = ("torchlens",)


def reasons(text: str) -> tuple[str, ...]:
    return ("module-unused",) if text.startswith("never ran") else stated(text)


def examine(program: Path, case: Case, way: str) -> Answer:
    found, answer = called(program, case, HERE / "tools" / "_torchlens.py")
    if answer is not None:
        return answer
    said = [Said(line, reasons(text), text, grave) for line, text, grave in found["said"]]
    return Answer(plain(said), frozenset(found["shown"]))
