"""Helpers that are right for others: a step and a pass in one function, a criterion that reduces when it is asked to, a mix."""

from __future__ import annotations

from typing import Any

import pytest
from marking import check, reports_of

ACTOR_CRITIC = """
    import torch
    actor, critic = torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    optimizers = [torch.optim.SGD(net.parameters(), lr=0.1) for net in (actor, critic)]
    x = torch.ones(3, 2)
"""
CRITERION = """
    import torch
    class Squared(torch.nn.Module):
        def __init__(self, reduction):
            super().__init__()
            self.reduction = reduction
        def forward(self, out, target):
            {body}
    OPTIONS = {{"reduction": "none"}}
    criterion = Squared(**OPTIONS)
    w = torch.ones(3, requires_grad=True)
    def step(x):
        loss = criterion(w * x, x)  # here: reduction-missing
        return loss
    step(torch.ones(3)).backward()
"""

PROGRAMS = {
    "a step with a closure": f"""{ACTOR_CRITIC}
    loss = critic(actor(x)).mean()
    critic(x).mean().backward()
    optimizers[1].step(lambda: None)  # here: weights-updated-before-backward
    loss.backward()
    """,
    "a closure that computes the loss": f"""{ACTOR_CRITIC}
    loss = critic(actor(x)).mean()
    def closure():
        optimizers[1].zero_grad()
        own = critic(x).mean()
        own.backward()
        return own
    optimizers[1].step(closure)  # here: weights-updated-before-backward
    loss.backward()
    """,
    "one helper goes backward and steps": f"""{ACTOR_CRITIC}
    def update(optimizer, loss):
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    def train():
        losses = critic(x).mean(), critic(actor(x)).mean()
        update(optimizers[1], losses[0])  # here: weights-updated-before-backward
        update(optimizers[0], losses[1])
    train()
    """,
    "one helper in a loop": f"""{ACTOR_CRITIC}
    def update(optimizer, loss):
        loss.backward()
        optimizer.step()  # here: weights-updated-before-backward
    losses = critic(x).mean(), critic(actor(x)).mean()
    for optimizer, loss in zip(optimizers[::-1], losses):
        update(optimizer, loss)
    """,
    "steps of two methods through one helper": f"""{ACTOR_CRITIC}
    def update(optimizer, loss):
        loss.backward()
        optimizer.step()
    def judge(loss):
        update(optimizers[1], loss)  # here: weights-updated-before-backward
    def act(loss):
        update(optimizers[0], loss)
    losses = critic(x).mean(), critic(actor(x)).mean()
    judge(losses[0])
    act(losses[1])
    """,
    "one helper, each loss after the step before": f"""{ACTOR_CRITIC}
    def update(optimizer, loss):
        optimizer.zero_grad()
        loss.backward()
        optimizer.step(lambda: None)
    update(optimizers[1], critic(x).mean())
    update(optimizers[0], critic(actor(x)).mean())
    """,
    "a criterion with branches": CRITERION.format(body="""loss = (out - target) ** 2
            if self.reduction == "mean":
                return loss.mean()
            return loss"""),
    "a criterion that rebinds": CRITERION.format(body="""loss = (out - target) ** 2
            if self.reduction == "sum":
                loss = torch.sum(loss)
            return loss"""),
    "a criterion with a choice": CRITERION.format(body="""loss = (out - target) ** 2
            return loss.mean() if self.reduction == "mean" else loss"""),
    "a criterion that never reduces": """
        import torch
        def squared(out, target):
            loss = (out - target) ** 2  # here: reduction-missing
            return loss
        w = torch.ones(3, requires_grad=True)
        squared(w * 2, torch.ones(3)).backward()
    """,
    "a mix of plain points without gradients": """
        import torch
        net = torch.nn.Linear(2, 1)
        @torch.no_grad()
        def mix(a, b):
            return torch.lerp(a, b, torch.rand(len(a), 1))  # here: requires_grad-missing
        points = mix(torch.randn(4, 2), torch.randn(4, 2) * 2)
        torch.autograd.grad(net(points).sum(), points)
    """,
    "a mix of points of a generator without gradients": """
        import torch
        net, generator = torch.nn.Linear(2, 1), torch.nn.Linear(2, 2)
        @torch.no_grad()  # here: no_grad-context
        def mix(a, b):
            return torch.lerp(a, generator(b), torch.rand(len(a), 1))
        points = mix(torch.randn(4, 2), torch.randn(4, 2))
        torch.autograd.grad(net(points).sum(), points)
    """,
}  # fmt: skip


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return reports_of(PROGRAMS, tmp_path_factory.mktemp("shared_helpers"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_line_of_the_one_that_uses_it(name: str, reports: dict[str, dict[str, Any]]) -> None:
    check(PROGRAMS[name], reports[name])
