from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class Record:
    losses: list = field(default_factory=list)
    rates: list = field(default_factory=list)

    def add(self, loss, rate):
        self.losses.append(loss.item())
        self.rates.append(rate.detach().clone())

    def last(self):
        return f"loss {self.losses[-1]:.4f} rate {self.rates[-1].item():.3f}"


class Growth(nn.Module):
    """Chapman-Richards curve with three parameters."""

    def __init__(self):
        super().__init__()
        self.top = nn.Parameter(torch.tensor(20.0))
        self.rate = nn.Parameter(torch.tensor(0.02))
        self.shape = nn.Parameter(torch.tensor(1.0))

    def curve(self, ages):
        return self.top * (1 - torch.exp(-self.rate * ages)).pow(self.shape)

    def forward(self, ages):
        height = self.curve(ages.float())
        return height.to(ages.dtype)


def plots(n=120):
    ages = torch.rand(n, dtype=torch.float64) * 80 + 5
    height = 30 * (1 - torch.exp(-0.04 * ages)) ** 1.4
    return ages, height + 0.5 * torch.randn(n, dtype=torch.float64)


def fit(model, ages, height, steps=60):
    record = Record()
    optimizer = torch.optim.Adam([
        {"params": [model.top], "lr": 0.5},
        {"params": [model.rate, model.shape], "lr": 0.005},
    ])
    for step in range(steps):
        residual = model(ages) - height
        loss = residual.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        record.add(loss, model.rate)
        if step % 20 == 0:
            print(step, record.last())


torch.manual_seed(15)
fit(Growth(), *plots())
