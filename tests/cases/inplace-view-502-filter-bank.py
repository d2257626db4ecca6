import math
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    taps: int = 15
    filters: int = 6
    lr: float = 5e-3
    steps: int = 25
    limit: float = 1.0


class FilterBank(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.kernel = nn.Parameter(torch.randn(cfg.filters, 1, cfg.taps))
        self.mix = nn.Linear(cfg.filters, 1)

    def forward(self, wave):
        bands = nn.functional.conv1d(wave.unsqueeze(1), self.kernel)
        return self.mix(bands.pow(2).mean(dim=-1)).squeeze(1)

    @torch.no_grad()
    def rows(self):
        return self.kernel.view(self.kernel.shape[0], -1)


def limit_energy(bank, limit):
    rows = bank.rows()
    energy = rows.norm(dim=1, keepdim=True)
    rows *= (limit / energy).clamp(max=1.0)


def tones(n, length=64):
    pitch = torch.rand(n) * 0.4 + 0.05
    time = torch.arange(length)
    wave = torch.sin(2 * math.pi * pitch[:, None] * time + 6.28 * torch.rand(n, 1))
    return wave + 0.1 * torch.randn(n, length), pitch


def run(cfg):
    torch.manual_seed(2)
    bank = FilterBank(cfg)
    optimizer = torch.optim.RMSprop(bank.parameters(), lr=cfg.lr)
    for step in range(cfg.steps):
        wave, pitch = tones(32)
        loss = (bank(wave) - pitch).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        limit_energy(bank, cfg.limit)
    return bank, loss.item()


bank, loss = run(Config())
print(f"mse {loss:.4f}, largest filter norm {bank.rows().norm(dim=1).max().item():.3f}")
