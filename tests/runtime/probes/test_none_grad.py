"""Lines that use a ``.grad`` which is None: whose it is and why, and silence for any other None."""

from __future__ import annotations

from typing import Any

import pytest
from marking import check, reports_of

HEAD = """
        import torch
        import torch.nn as nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(4, 4)
                self.head = nn.Linear(4, 1)
                self.spare = nn.Linear(4, 1)
            def forward(self, x):
                return self.head(self.body(x))
        model = Net()
        x, y = torch.randn(8, 4), torch.randn(8, 1)
        def loss_of():
            return (model(x) - y).square().mean()
"""
PROGRAMS = {
    "no backward": """
        loss = loss_of()
        model.head.weight.grad.zero_()  # here: backward-missing
    """,
    "no backward, an update by hand": """
        w = torch.ones(3, requires_grad=True)
        loss = (w * 2).sum()
        with torch.no_grad():
            w -= 0.1 * w.grad  # here: backward-missing
    """,
    "autograd.grad": """
        loss = loss_of()
        grads = torch.autograd.grad(loss, list(model.head.parameters()))  # here: backward-missing
        print(model.head.weight.grad.norm())
    """,
    "cleared": """
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            loss_of().backward()
            optimizer.step()
            optimizer.zero_grad()  # here: gradients-cleared
            print(f"{model.head.weight.grad.norm():.3f}")
    """,
    "cleared through the module, in another method": """
        class Trainer:
            def __init__(self):
                self.model = model
            def step(self):
                loss_of().backward()
                self.finish()
            def finish(self):
                self.model.zero_grad()  # here: gradients-cleared
            def norm(self):
                return self.model.body.weight.grad.norm()
        trainer = Trainer()
        trainer.step()
        trainer.norm()
    """,
    "set to None by hand": """
        w = torch.ones(3, requires_grad=True)
        loss = (w * 2).sum()
        loss.backward()
        w.grad = None  # here: gradients-cleared
        step = 0.1 * w.grad
    """,
    "unused part in a loop": """
        loss = loss_of()
        loss.backward()
        for p in model.parameters():
            p.grad.data.clamp_(-1, 1)  # here: module-unused
    """,
    "unused part in a comprehension": """
        def norms(model):
            return sum([p.grad.norm() for p in model.parameters()])  # here: module-unused
        for _ in range(2):
            loss = loss_of()
            loss.backward()
        norms(model)
    """,
    "stacked": """
        loss = loss_of()
        loss.backward()
        torch.cat([p.grad for p in model.spare.parameters()])  # here: module-unused
    """,
    "frozen": """
        for p in model.body.parameters():
            p.requires_grad = False  # here: frozen-part
        loss_of().backward()
        total = 0.0
        for p in model.parameters():
            total += p.grad.norm().item()
    """,
    "computed": """
        w = torch.ones(3, requires_grad=True)
        h = w * 2  # here: non-leaf-grad
        h.sum().backward()
        print(h.grad.norm())
    """,
    "rebound by its own update": """
        w = torch.ones(3, requires_grad=True)
        for _ in range(3):
            loss = (w * 2).sum()
            loss.backward()
            w = w - 0.1 * w.grad  # here: non-leaf-grad
    """,
    "plain data": """
        inputs = torch.randn(8, 4)  # here: requires_grad-missing
        model(inputs).sum().backward()
        print(inputs.grad.abs().max())
    """,
    "lost on the way": """
        features = model.body(x).detach()  # here: detach
        loss = (model.head(features) - y).square().mean()
        loss.backward()
        grad = model.body.weight.grad
        print(grad.norm())
    """,
    "computed with gradients off": """
        with torch.no_grad():  # here: no_grad-context
            features = model.body(x)
        loss = (model.head(features) - y).square().mean()
        loss.backward()
        print(list(model.parameters())[0].grad.norm())
    """,
    "another None": """
        loss_of().backward()
        def nothing(p):
            pass
        nothing(model.spare.weight).norm()
    """,
    "another None beside a gradient": """
        loss_of().backward()
        scale = None
        model.head.weight.grad * scale
    """,
    "a grad of something else": """
        class Student:
            grad = None
        Student().grad.upper()
    """,
    "right": """
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            loss_of().backward()
            print(sum(p.grad.norm() for p in model.parameters() if p.grad is not None))
            optimizer.step()
    """,
}
PROGRAMS = {name: HEAD + program for name, program in PROGRAMS.items()}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return reports_of(PROGRAMS, tmp_path_factory.mktemp("none_grad"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_why_a_gradient_is_none(name: str, reports: dict[str, dict[str, Any]]) -> None:
    check(PROGRAMS[name], reports[name])
