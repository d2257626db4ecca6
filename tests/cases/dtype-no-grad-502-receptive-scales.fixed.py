from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class Settings:
    scales: list = field(default_factory=lambda: [1, 2, 4, 8])
    hidden: int = 16
    lr: float = 1e-2
    epochs: int = 40
    seed: int = 77


class DecayPooling(nn.Module):
    """Averages the past with learned decay times, one per scale."""

    def __init__(self, scales):
        super().__init__()
        self.times = nn.Parameter(torch.tensor(scales, dtype=torch.float32))

    def forward(self, series):
        age = torch.arange(series.shape[1] - 1, -1, -1, dtype=series.dtype)
        weight = torch.exp(-age[:, None] / self.times.abs().clamp(min=0.1))
        return series @ (weight / weight.sum(dim=0))


class DemandModel(nn.Module):
    def __init__(self, settings):
        super().__init__()
        self.pool = DecayPooling(settings.scales)
        self.net = nn.Sequential(
            nn.Linear(len(settings.scales), settings.hidden),
            nn.GELU(),
            nn.Linear(settings.hidden, 1),
        )

    def forward(self, series):
        return self.net(self.pool(series)).squeeze(-1)


def demand(n, length=24):
    series = torch.randn(n, length).cumsum(dim=1) * 0.3
    return series, series[:, -3:].mean(dim=1) - 0.5 * series[:, -12:].mean(dim=1)


def main(settings=Settings()):
    torch.manual_seed(settings.seed)
    model = DemandModel(settings)
    optimizer = torch.optim.Adam(model.parameters(), lr=settings.lr)
    for epoch in range(settings.epochs):
        series, target = demand(64)
        loss = nn.functional.l1_loss(model(series), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}, decay times {model.pool.times.detach().numpy().round(2)}")


if __name__ == "__main__":
    main()
