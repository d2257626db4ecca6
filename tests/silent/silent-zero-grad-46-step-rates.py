import torch
import torch.nn as nn

torch.manual_seed(153)


class Seasonal(nn.Module):
    """Sum of sines whose frequencies lie on a grid."""

    def __init__(self, waves=4, grid=0.25):
        super().__init__()
        self.rate = nn.Parameter(torch.rand(waves) * 3 + 0.5)
        self.phase = nn.Parameter(torch.zeros(waves))
        self.size = nn.Parameter(torch.full((waves,), 0.5))
        self.grid = grid

    def frequencies(self):
        return torch.floor(self.rate / self.grid) * self.grid

    def forward(self, t):
        angle = t[:, None] * self.frequencies() + self.phase
        return (self.size * torch.sin(angle)).sum(dim=1)


def observe(n=128):
    t = torch.rand(n) * 8
    return t, 1.2 * torch.sin(1.5 * t) + 0.6 * torch.sin(3.25 * t + 1) + 0.05 * torch.randn(n)


def fit(model, steps=120):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    for step in range(steps):
        t, y = observe()
        loss = (model(t) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 30 == 0:
            print(step, round(loss.item(), 4), [round(v, 2) for v in model.frequencies().tolist()])
    return optimizer


model = Seasonal()
fit(model)
