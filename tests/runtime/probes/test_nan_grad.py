"""``gradwhy run --nan``: the operation whose backward made the first NaN or Inf."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from marking import check, reports_of

Run = Callable[..., "subprocess.CompletedProcess[str]"]

PROGRAMS = {
    "sqrt in a distance": """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Linear(3, 2)
            def forward(self, x):
                return self.w(x)
        def spread(z):
            d = z[:, None] - z[None]
            return d.pow(2).sum(-1).sqrt().mean()  # here: sqrt-of-zero
        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=.1)
        for i in range(3):
            loss = -spread(net(torch.randn(4, 3)))
            opt.zero_grad()
            loss.backward()
            opt.step()
    """,
    "p log p": """
        import torch
        logits = torch.tensor([[0.0, -300.0], [0., 0.]], requires_grad=True)
        def entropy(p):
            logp = p.log()  # here: log-of-zero
            return -(p * logp).sum(-1)
        opt = torch.optim.Adam([logits])
        h = entropy(logits.softmax(-1)).mean()
        h.backward()
    """,
    "late log": """
        import torch
        w = torch.nn.Parameter(torch.tensor([1.0]))
        opt = torch.optim.SGD([w], lr=0.5)
        for i in range(4):
            opt.zero_grad()
            loss = (w ** 2).log().sum()  # here: log-of-zero
            loss.backward()
            opt.step()
    """,
    "where sqrt other line": """
        import torch
        w = torch.nn.Parameter(torch.tensor([0.0, 2.0]))
        def root(x):
            return x.sqrt()
        def safe(x):
            return torch.where(x > 0, root(x), torch.zeros_like(x))  # here: where-nan
        safe(w).sum().backward()
    """,
    "masked_fill": """
        import torch
        w = torch.nn.Parameter(torch.tensor([0.0, 2.0]))
        l = torch.log(w)
        l = l.masked_fill(w <= 0, 0.0)  # here: where-nan
        l.sum().backward()
    """,
    "division empty mask": """
        import torch
        w = torch.nn.Parameter(torch.randn(2, 4))
        m = torch.tensor([[1., 1., 0., 0.], [0., 0., 0., 0.]])
        mean = (w * m).sum(1) / m.sum(1)  # here: division-by-zero
        loss = mean.nan_to_num(0.0).sum()
        loss.backward()
    """,
    "acos": """
        import torch
        a = torch.nn.Parameter(torch.tensor([1., 0., 0.]))
        b = torch.tensor([1., 0., 0.])
        c = torch.dot(a, b) / (a.norm() * b.norm())
        ang = torch.acos(c)  # here: out-of-domain
        ang.backward()
    """,
    "exp overflow": """
        import torch
        a = torch.nn.Parameter(torch.tensor([1., 100.]))
        e = a.exp()  # here: overflow
        s = e / e.sum()
        s[0].backward()
    """,
    "softmax of nothing": """
        import torch
        from torch import nn
        q = nn.Linear(4, 4)
        x = torch.randn(3, 4)
        mask = torch.tensor([0., 0., 1.]).bool()
        bias = torch.zeros(3, 3).masked_fill(mask[:, None], float("-inf"))
        s = q(x) @ x.T + bias
        att = torch.softmax(s, dim=-1)  # here: all-masked-row
        out = att @ q(x)
        out[:2].sum().backward()
    """,
    "nan in data": """
        import torch
        from torch import nn
        q = nn.Linear(4, 1)
        x = torch.randn(3, 4); x[1, 2] = float("nan")
        y = q(x)  # here: non-finite-input
        (y - 1).pow(2).mean().backward()
    """,
    "grad penalty autograd.grad": """
        import torch
        from torch import nn
        q = nn.Linear(4, 1)
        x = torch.zeros(3, 4, requires_grad=True)
        y = q(x)
        g = torch.autograd.grad(y.sum() * 0, x, create_graph=True)[0]
        pen = (g.pow(2).sum(1).sqrt() - 1).pow(2).mean()  # here: sqrt-of-zero
        pen.backward()
    """,
    "no fault": """
        import torch
        from torch import nn
        q = nn.Linear(4, 1)
        opt = torch.optim.SGD(q.parameters(), lr=.1)
        for i in range(3):
            loss = (q(torch.randn(3, 4)) ** 2).sum(1).add(1e-6).sqrt().mean()
            opt.zero_grad(); loss.backward(); opt.step()
    """,
    "repaired on the way": """
        import torch
        w = torch.nn.Parameter(torch.tensor([0.0, 2.0]))
        v = w * 1
        v.register_hook(lambda g: g.nan_to_num(0.0, posinf=0.0))
        v.sqrt().sum().backward()
    """,
    "custom function": """
        import torch
        class Len(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                n = x.norm()
                ctx.save_for_backward(x, n)
                return n
            @staticmethod
            def backward(ctx, g):
                x, n = ctx.saved_tensors
                return g * x / n
        w = torch.nn.Parameter(torch.zeros(3))
        l = Len.apply(w)  # here: non-finite-gradient
        l.backward()
    """,
    "std single": """
        import torch
        w = torch.nn.Parameter(torch.randn(1, 3))
        s = w.std(dim=0)  # here: non-finite-gradient
        s.sum().backward()
    """,
    "anomaly": """
        import torch
        w = torch.nn.Parameter(torch.tensor([0.0, 2.0]))
        torch.autograd.set_detect_anomaly(True)
        y = w.sqrt()  # here: sqrt-of-zero
        (y * torch.tensor([0., 1.])).sum().backward()
    """,
    "vmap grad": """
        import torch
        from torch.func import vmap, grad
        def f(w, x):
            return (w * x).pow(2).sum().sqrt()  # here: sqrt-of-zero
        w = torch.ones(3)
        g = vmap(grad(f), in_dims=(None, 0))(w, torch.zeros(4, 3))
        print(g)
    """,
    "scaler": """
        import torch
        w = torch.nn.Parameter(torch.tensor([1e30]))
        opt = torch.optim.SGD([w], lr=.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**100)
        for i in range(2):
            opt.zero_grad()
            loss = (w * 1e20).sum()
            scaler.scale(loss).backward()
            scaler.step(opt); scaler.update()
    """,
    "categorical": """
        import torch
        from torch import nn
        net = nn.Linear(3, 4)
        opt = torch.optim.SGD(net.parameters(), lr=.1)
        for i in range(3):
            z = net(torch.zeros(2, 3))
            d = torch.distributions.Categorical(logits=z)
            loss = (z - z.detach()).pow(2).sum(-1).sqrt().mean() - d.entropy().mean()  # here: sqrt-of-zero
            opt.zero_grad(); loss.backward(); opt.step()
    """,
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return reports_of(PROGRAMS, tmp_path_factory.mktemp("marked"), nan=True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_first_is_named(name: str, reports: dict[str, dict[str, Any]]) -> None:
    check(PROGRAMS[name], reports[name])


TRAINING = """
    import gc
    import torch
    from torch import nn
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 2))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(5):
        x = torch.randn(6, 4, requires_grad=True)
        y = net(x)
        (slope,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
        loss = (y.exp().sum(1) / (1 + y.abs().sum(1))).log().mean() + (slope.square().sum(1) + 1e-6).sqrt().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        del x, y, slope
    print(loss.item(), [p.double().sum().item() for p in net.parameters()])
    del loss
    gc.collect()
    print(sum(isinstance(o, torch.Tensor) for o in gc.get_objects()))
"""


def test_looking_changes_nothing(program: Callable[..., Path], python: Run, gradwhy: Run) -> None:
    """The same bits, the same tensors alive, the same output."""
    program(TRAINING)
    plain, watched = python("train.py"), gradwhy("run", "--nan", "train.py")
    assert plain.returncode == 0
    assert (watched.returncode, watched.stdout, watched.stderr) == (plain.returncode, plain.stdout, plain.stderr)


def test_without_a_record_there_is_no_line(program: Callable[..., Path], gradwhy: Run) -> None:
    program("print(1)")
    refused = gradwhy("run", "--nan", "--trace", "never", "train.py")
    assert refused.returncode == 2
    assert "--nan" in refused.stderr and not refused.stdout


SAID = {
    "anomaly mode": PROGRAMS["anomaly"],
    "a distribution": PROGRAMS["categorical"],
}


@pytest.mark.parametrize("name", SAID)
def test_an_error_is_answered_without_the_option_too(name: str, said: dict[str, dict[str, Any]]) -> None:
    check(SAID[name], said[name])
    assert said[name]["findings"][0]["certainty"] == "likely"


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return reports_of(SAID, tmp_path_factory.mktemp("said"))
