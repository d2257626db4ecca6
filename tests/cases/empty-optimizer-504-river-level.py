from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    history: int = 24
    horizon: int = 6
    width: int = 32
    lr: float = 2e-3
    steps: int = 30
    tune: tuple = ("decoder",)


class Forecaster(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(cfg.history, cfg.width), nn.Tanh())
        self.decoder = nn.Sequential(nn.Linear(cfg.width, cfg.width), nn.Tanh(), nn.Linear(cfg.width, cfg.horizon))

    def forward(self, levels):
        return self.decoder(self.encoder(levels))


class Standardised(nn.Module):
    def __init__(self, net, levels):
        super().__init__()
        self.net = net
        self.register_buffer("mean", levels.mean())
        self.register_buffer("std", levels.std())

    def forward(self, levels):
        return self.net((levels - self.mean) / self.std) * self.std + self.mean


def gauge(length=600):
    t = torch.arange(length) / 24
    return 3 + torch.sin(t) + 0.4 * torch.sin(7 * t) + 0.05 * torch.randn(length)


def select(model, prefixes):
    chosen = []
    for name, parameter in model.named_parameters():
        if name.startswith(prefixes):
            chosen.append(parameter)
    return chosen


def run(cfg):
    levels = gauge()
    windows = levels.unfold(0, cfg.history + cfg.horizon, 1)
    model = Standardised(Forecaster(cfg), levels)
    optimizer = torch.optim.AdamW(select(model, cfg.tune), lr=cfg.lr)
    for step in range(cfg.steps):
        batch = windows[torch.randint(len(windows), (32,))]
        loss = (model(batch[:, : cfg.history]) - batch[:, cfg.history :]).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"mean absolute error {loss.item():.4f}")


torch.manual_seed(0)
run(Config())
