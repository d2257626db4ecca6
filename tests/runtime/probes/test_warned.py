"""Warnings of autograd that were issued become findings; what a filter ignores does not."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from marking import check, reports_of

Run = Callable[..., "subprocess.CompletedProcess[str]"]

PROGRAMS = {
    "non leaf view": """
        import torch
        img = torch.rand(4, 4).requires_grad_()
        px = img.reshape(2, 8)  # here: non-leaf-grad
        px.square().sum().backward()
        print(px.grad)
    """,
    "to device non leaf": """
        import torch
        w = torch.randn(3, requires_grad=True).double()  # here: to-device-non-leaf
        for i in range(3):
            w.sum().backward()
            if w.grad is not None:
                print(1)
    """,
    "attribute": """
        import torch
        class M(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.l = torch.nn.Linear(3, 3)
            def forward(self, x):
                self.h = self.l(x).relu()  # here: non-leaf-grad
                return self.h.sum()
        m = M()
        m(torch.ones(2, 3)).backward()
        print(m.h.grad)
    """,
    "retained": """
        import torch
        img = torch.rand(4, 4).requires_grad_()
        px = img.reshape(2, 8)
        px.retain_grad()
        px.square().sum().backward()
        print(px.grad.shape)
    """,
    "mse functional": """
        import torch, torch.nn.functional as F
        m = torch.nn.Linear(3, 1)
        x, y = torch.randn(8, 3), torch.randn(8)
        for i in range(3):
            loss = F.mse_loss(m(x), y)  # here: shape-broadcast
            loss.backward()
    """,
    "mse module twice": """
        import torch
        m = torch.nn.Linear(3, 1)
        crit = torch.nn.MSELoss()
        x, y = torch.randn(8, 3), torch.randn(8)
        def a(): return crit(m(x), y)  # here: shape-broadcast
        def b(): return crit(m(x) * 2, y)
        for i in range(3):
            (a() + b()).backward()
    """,
    "huber": """
        import torch
        m = torch.nn.Linear(3, 1)
        crit = torch.nn.SmoothL1Loss()
        x, y = torch.randn(8, 3), torch.randn(8)
        crit(m(x), y).backward()  # here: shape-broadcast
    """,
    "scheduler": """
        import torch
        m = torch.nn.Linear(3, 1)
        opt = torch.optim.SGD(m.parameters(), lr=.1)
        sch = torch.optim.lr_scheduler.StepLR(opt, 1)
        for i in range(3):
            opt.zero_grad()
            m(torch.ones(2, 3)).sum().backward()
            sch.step()  # here: scheduler-before-optimizer
            opt.step()
    """,
    "checkpoint": """
        import torch
        from torch import nn
        from torch.utils.checkpoint import checkpoint
        emb = nn.Linear(3, 3).requires_grad_(False)
        blk = nn.Linear(3, 3); head = nn.Linear(3, 1)
        opt = torch.optim.SGD([*blk.parameters(), *head.parameters()], lr=.1)
        def fwd(x):
            h = emb(x)
            h = checkpoint(blk, h, use_reentrant=True)  # here: checkpoint-frozen-input
            return head(h)
        loss = fwd(torch.ones(2, 3)).sum()
        loss.backward()
    """,
    "checkpoint no_grad": """
        import torch
        from torch import nn
        from torch.utils.checkpoint import checkpoint
        blk = nn.Linear(3, 3)
        with torch.no_grad():
            print(checkpoint(blk, torch.ones(2, 3), use_reentrant=True).shape)
    """,
    "ignored by filter": """
        import torch, warnings, torch.nn.functional as F
        warnings.filterwarnings("ignore", message="Using a target size")
        m = torch.nn.Linear(3, 1)
        F.mse_loss(m(torch.randn(8, 3)), torch.randn(8)).backward()
    """,
    "simplefilter in with": """
        import torch, warnings, torch.nn.functional as F
        m = torch.nn.Linear(3, 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            F.mse_loss(m(torch.randn(8, 3)), torch.randn(8)).backward()
    """,
    "with error": """
        import torch, torch.nn.functional as F
        m = torch.nn.Linear(3, 1)
        F.mse_loss(m(torch.randn(8, 3)), torch.randn(8)).backward()
        w = torch.ones(3, requires_grad=True)
        loss = w.detach().sum()  # here: detach
        loss.backward()
    """,
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return reports_of(PROGRAMS, tmp_path_factory.mktemp("marked"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_warning_names_its_line(name: str, reports: dict[str, dict[str, Any]]) -> None:
    check(PROGRAMS[name], reports[name])


def test_a_warning_is_never_an_error(reports: dict[str, dict[str, Any]]) -> None:
    for report in reports.values():
        for finding in report["findings"]:
            assert (finding["severity"] == "warning") == (finding["symptom"] == "warned")


def test_each_line_is_told_although_python_shows_the_warning_once(reports: dict[str, dict[str, Any]]) -> None:
    assert [finding["at"]["line"] for finding in reports["mse module twice"]["findings"]] == [5, 6]


FAITHFUL = """
    import logging
    import sys
    import warnings
    import torch
    import torch.nn.functional as F

    def helper(level):
        warnings.warn("from helper %d" % level, stacklevel=level)

    def outer():
        helper(2)

    for level in (0, 1, 2, 3, 9):
        for _ in range(2):
            helper(level)
    outer()
    outer()
    warnings.warn("future", FutureWarning)
    warnings.warn(UserWarning("an instance"))
    with warnings.catch_warnings(record=True) as got:
        warnings.simplefilter("always")
        helper(2)
        F.mse_loss(torch.zeros(3, 1), torch.zeros(3))
    print([(str(w.message), w.lineno) for w in got])
    mean = torch.nn.L1Loss()
    for _ in range(2):
        F.mse_loss(torch.zeros(3, 1), torch.zeros(3))
        mean(torch.zeros(3, 1), torch.zeros(3))
    x = torch.ones(2, requires_grad=True) * 2
    for _ in range(2):
        x.grad
    x.grad
    if sys.version_info >= (3, 12):
        warnings.warn("skip", skip_file_prefixes=(__file__,))
    logging.basicConfig()
    logging.captureWarnings(True)
    warnings.warn("logged")
    logging.captureWarnings(False)
    shown = warnings.showwarning
    warnings.showwarning = lambda message, category, filename, line, file=None, text=None: print(message, line)
    warnings.warn("custom")
    F.mse_loss(torch.zeros(5, 1), torch.zeros(5))
    warnings.showwarning = shown
    warnings.filterwarnings("error", message="Using a target")
    F.mse_loss(torch.zeros(6, 1), torch.zeros(6))
"""


@pytest.mark.parametrize(
    ("filters", "trace"),
    [
        ("", "auto"),
        ("", "never"),
        ("ignore", "auto"),
        ("always", "auto"),
        ("once", "auto"),
        ("module", "auto"),
        ("error::FutureWarning", "auto"),
        ("ignore:::__main__", "auto"),
    ],
)
def test_what_the_program_shows_is_the_same(
    program: Callable[..., Path], python: Run, gradwhy: Run, filters: str, trace: str
) -> None:
    program(FAITHFUL)
    around = {"env": {"PYTHONWARNINGS": filters}}
    plain = python("train.py", **around)
    watched = gradwhy("run", "--trace", trace, "--output", "report.txt", "train.py", **around)
    assert (watched.returncode, watched.stdout, watched.stderr) == (plain.returncode, plain.stdout, plain.stderr)
