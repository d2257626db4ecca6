"""Failures that only compiled code has: the line that compiled it, or the call of autograd inside."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from marking import check, reports_of

Run = Callable[..., "subprocess.CompletedProcess[str]"]

PROGRAMS = {
    "double backward of a module": """
        import torch
        from torch import nn
        class Energy(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
            def forward(self, r):
                return self.net(r).sum()
        energy = Energy()
        fast = torch.compile(energy, backend="aot_eager")  # here: compiled-double-backward
        opt = torch.optim.SGD(energy.parameters(), lr=0.1)
        for step in range(2):
            r = torch.randn(4, 3, requires_grad=True)
            force = -torch.autograd.grad(fast(r), r, create_graph=True)[0]
            loss = force.pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
    """,
    "double backward of a decorated function": """
        import torch
        @torch.compile(backend="aot_eager")  # here: compiled-double-backward
        def energy(r):
            return torch.exp(-r).sum()
        r = torch.randn(4, 3, requires_grad=True)
        g = torch.autograd.grad(energy(r), r, create_graph=True)[0]
        g.pow(2).sum().backward()
    """,
    "double backward, compiled in place": """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(3, 1)
            def forward(self, x):
                return self.a(x).tanh()
        net = Net()
        net.compile(backend="aot_eager")  # here: compiled-double-backward
        x = torch.randn(4, 3, requires_grad=True)
        g = torch.autograd.grad(net(x).sum(), x, create_graph=True)[0]
        (g.norm(dim=1) - 1).pow(2).mean().backward()
    """,
    "the other one of two is compiled as well": """
        import torch
        from torch import nn
        a, b = nn.Linear(3, 3), nn.Linear(3, 1)
        first = torch.compile(a, backend="aot_eager")
        second = torch.compile(b, backend="aot_eager")  # here: compiled-double-backward
        x = torch.randn(4, 3)
        h = first(x).detach().requires_grad_()
        g = torch.autograd.grad(second(h).tanh().sum(), h, create_graph=True)[0]
        g.pow(2).sum().backward()
    """,
    "donated": """
        import torch
        class Trainer:
            def __init__(self):
                self.w = torch.nn.Parameter(torch.randn(4, 4))
                self.score = torch.compile(self.plain, backend="aot_eager")  # here: donated-buffer-kept
            def plain(self, x):
                return torch.relu(x @ self.w).sigmoid().sum()
            def step(self, x, keep):
                loss = self.score(x)
                loss.backward(retain_graph=keep)
        t = Trainer()
        t.step(torch.randn(2, 4), False)
        t.step(torch.randn(2, 4), True)
    """,
    "backward inside": """
        import torch
        def slope(x):
            y = x.square().sum()
            y.backward()  # here: autograd-call-compiled
            return x.grad
        torch.compile(slope, backend="aot_eager", fullgraph=True)(torch.ones(3, requires_grad=True))
    """,
    "autograd.grad in a function that is called": """
        import torch
        def force(r):
            return torch.autograd.grad(r.square().sum(), r)[0]  # here: autograd-call-compiled
        def step(r):
            return r - 0.1 * force(r)
        fast = torch.compile(step, backend="aot_eager", fullgraph=True)
        fast(torch.ones(3, requires_grad=True))
    """,
    "a leaf in place": """
        import torch
        @torch.compile(backend="aot_eager", fullgraph=True)
        def bump(w):
            w.add_(1)  # here: inplace-op
            return w.sum()
        bump(torch.ones(3, requires_grad=True))
    """,
    "compiled and trained": """
        import torch
        net = torch.nn.Linear(3, 1)
        fast = torch.compile(net, backend="aot_eager")
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for i in range(2):
            opt.zero_grad()
            fast(torch.ones(2, 3)).sum().backward()
            opt.step()
    """,
    "compiled, trained and kept": """
        import torch
        net = torch.nn.Linear(3, 1)
        fast = torch.compile(net, backend="aot_eager")
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for i in range(2):
            opt.zero_grad()
            loss = fast(torch.ones(2, 3)).sum()
            loss.backward(retain_graph=True)
            opt.step()
    """,
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return reports_of(PROGRAMS, tmp_path_factory.mktemp("marked"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_compiling_line_is_named(name: str, reports: dict[str, dict[str, Any]]) -> None:
    check(PROGRAMS[name], reports[name])


DOUBLE = """
    import sys
    import torch
    print("before")
    f = torch.compile(lambda x: (x**3).sum(), backend="aot_eager")
    x = torch.ones(3, requires_grad=True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    print(g)
    g.sum().backward()
"""


def test_what_fails_compiled_fails_under_gradwhy_as_well(
    program: Callable[..., Path], python: Run, gradwhy: Run
) -> None:
    """Compiled code runs eager while steps are recorded, but not where that would hide its failure."""
    program(DOUBLE)
    plain, watched = python("train.py"), gradwhy("run", "--output", "report.txt", "train.py")
    assert plain.returncode == 1
    assert (watched.returncode, watched.stdout, watched.stderr) == (plain.returncode, plain.stdout, plain.stderr)
