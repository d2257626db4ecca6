"""Small programs whose diagnosis turns on one detail each; whole programs are in ``tests/cases``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Run

Write = Callable[..., Path]

MANAGER = """
    import torch
    class Evaluating:
        def __enter__(self):
            torch.set_grad_enabled(False)
        def __exit__(self, *reason):
            torch.set_grad_enabled(True)
    w = torch.ones(3, requires_grad=True)
    with Evaluating():
        loss = (w * 2).sum()
    loss.backward()
"""
NEVER_BACK = MANAGER.replace("torch.set_grad_enabled(True)", "pass").replace(
    "    loss = (w * 2).sum()", "    pass\n    loss = (w * 2).sum()"
)
REBOUND = """
    import torch
    w = torch.ones(3, requires_grad=True)
    for step in range(3):
        loss = (w * 2).sum()
        loss.backward()
        with torch.no_grad():
            w = w - 0.1 * w.grad
"""
TEACHER = """
    import torch
    from torch import nn
    teacher, student = nn.Linear(3, 2), nn.Linear(3, 2)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    x = torch.ones(4, 3)
    with torch.no_grad():
        target = teacher(x)
    out = student(x).detach()
    loss = nn.functional.mse_loss(out, target)
    optimizer.zero_grad()
    loss.backward()
"""
TUPLE = """
    import torch
    w = torch.ones(3, requires_grad=True)
    a, b = (w * 2).sum(), (w * 3).sum()
    torch.autograd.backward([a, b.detach()])
"""

EXPECTED: dict[str, tuple[str, str, str]] = {
    "a manager of one's own that is open": (MANAGER, "no_grad-context", "torch.set_grad_enabled(False)"),
    "a manager that does not switch back": (NEVER_BACK, "grad-mode-left-off", "torch.set_grad_enabled(False)"),
    "a leaf that is replaced": (REBOUND, "no_grad-context", "w = w - 0.1 * w.grad"),
    "a target is no culprit": (TEACHER, "detach", "student(x).detach()"),
    "the second of several losses": (TUPLE, "detach", "b.detach()"),
}


@pytest.mark.parametrize("what", EXPECTED)
def test_the_line(program: Write, gradwhy: Run, tmp_path: Path, what: str) -> None:
    text, cause, subject = EXPECTED[what]
    program(text)
    gradwhy("run", "--format", "json", "--output", "report.json", "train.py")
    report: dict[str, Any] = json.loads((tmp_path / "report.json").read_text("utf-8"))
    (first,) = report["findings"]
    assert (first["cause"], first["subject"]) == (cause, subject)


def test_nothing_is_said_where_nothing_is_known(program: Write, gradwhy: Run) -> None:
    """A loss from a function out of sight, on a line that could not cut: no guess."""
    program("import torch\nloss = torch.load.__class__ and torch.zeros(())\ntorch.autograd.backward(loss)\n")
    run = gradwhy("run", "--trace", "never", "train.py")
    assert "error[" not in run.stderr
    assert "not in what was recorded" in " ".join(run.stderr.split())


def test_later_failures_without_a_record_are_likely_at_best(program: Write, gradwhy: Run, tmp_path: Path) -> None:
    program(TEACHER)
    gradwhy("run", "--trace", "never", "--format", "json", "--output", "report.json", "train.py")
    (first,) = json.loads((tmp_path / "report.json").read_text("utf-8"))["findings"]
    assert (first["cause"], first["certainty"]) == ("detach", "likely")
