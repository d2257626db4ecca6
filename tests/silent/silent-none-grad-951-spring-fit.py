from typing import NamedTuple

import torch
from torch import nn


class Batch(NamedTuple):
    time: torch.Tensor
    place: torch.Tensor


class Damped(nn.Module):
    """x(t) = a exp(-c t) cos(w t + p), with all four to be found."""

    def __init__(self):
        super().__init__()
        self.log_amplitude = nn.Parameter(torch.zeros(1))
        self.log_damping = nn.Parameter(torch.tensor([-1.0]))
        self.omega = nn.Parameter(torch.tensor([1.5]))
        self.phase = nn.Parameter(torch.zeros(1))

    def forward(self, time):
        envelope = self.log_amplitude.exp() * torch.exp(-self.log_damping.exp() * time)
        return envelope * torch.cos(self.omega * time + self.phase)


def measure(count=40):
    time = torch.linspace(0, 8, count)
    return Batch(time, 1.3 * torch.exp(-0.2 * time) * torch.cos(1.8 * time) + 0.02 * torch.randn(count))


class Fit:
    def __init__(self, model, lr=0.02):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.best = float("inf")

    def loss(self, batch):
        return (self.model(batch.time) - batch.place).pow(2).mean()

    def run(self, batch, steps):
        for step in range(steps):
            self.optimizer.zero_grad()
            loss = self.loss(batch)
            self.optimizer.step()
            self.best = min(self.best, loss.item())
            if step % 20 == 0:
                print(f"step {step:3d} loss {loss.item():.4f}")
        return self.best


torch.manual_seed(0)
batch = measure()
model = Damped()
before = [p.detach().clone() for p in model.parameters()]
Fit(model).run(batch, 60)
assert all(torch.equal(p, q) for p, q in zip(model.parameters(), before))
