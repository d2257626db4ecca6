import random

import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class Branch(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 5, padding=2, groups=width)
        self.norm = nn.GroupNorm(1, width)
        self.expand = nn.Conv2d(width, 2 * width, 1)
        self.reduce = nn.Conv2d(2 * width, width, 1)

    def forward(self, x):
        return self.reduce(torch.nn.functional.gelu(self.expand(self.norm(self.depthwise(x)))))


class Stage(nn.Module):
    def __init__(self, width, depth, drop):
        super().__init__()
        self.branches = nn.ModuleList(Branch(width) for _ in range(depth))
        self.rates = [drop * (i + 1) / depth for i in range(depth)]

    def forward(self, x):
        for branch, rate in zip(self.branches, self.rates):
            if self.training and random.random() < rate:
                continue
            x = x + branch(x)
        return x


class StormNet(nn.Module):
    def __init__(self, width=12, stages=3, depth=3, drop=0.4):
        super().__init__()
        self.stem = nn.Conv2d(2, width, 4, stride=4)
        self.stages = nn.ModuleList(Stage(width, depth, drop) for _ in range(stages))
        self.head = nn.Linear(width, 1)

    def forward(self, fields):
        x = self.stem(fields)
        for stage in self.stages:
            x = checkpoint(stage, x, use_reentrant=False)
        return self.head(x.mean((2, 3))).squeeze(1)


def reanalysis(count=8):
    fields = torch.randn(count, 2, 32, 32)
    strength = torch.rand(count)
    fields[:, 0] -= 3 * strength[:, None, None]
    return fields, strength


def seed_everything(value):
    random.seed(value)
    torch.manual_seed(value)


if __name__ == "__main__":
    seed_everything(42)
    model = StormNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step in range(8):
        fields, strength = reanalysis()
        loss = (model(fields) - strength).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: {loss.item():.4f}")
