import functools

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Experts(nn.Module):
    """Sends every cell to one of several small networks."""

    def __init__(self, width, experts=3, jitter=0.3):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)) for _ in range(experts))
        self.jitter = jitter

    def route(self, x):
        logits = self.gate(x)
        if self.training:
            logits = logits + self.jitter * torch.randn_like(logits)
        return logits.softmax(dim=-1).max(dim=-1)

    def forward(self, x):
        weight, index = self.route(x)
        out = torch.zeros_like(x)
        for k, expert in enumerate(self.experts):
            rows = (index == k).nonzero().squeeze(1)
            out = out.index_add(0, rows, expert(x[rows]) * weight[rows, None])
        return x + out


def wrapper(enabled):
    if not enabled:
        return lambda module, x: module(x)
    return functools.partial(checkpoint, use_reentrant=False, preserve_rng_state=False)


class CellTyper(nn.Module):
    def __init__(self, genes=30, width=16, depth=2, types=4, low_memory=True):
        super().__init__()
        self.embed = nn.Linear(genes, width)
        self.blocks = nn.ModuleList(Experts(width) for _ in range(depth))
        self.head = nn.Linear(width, types)
        self.call = wrapper(low_memory)

    def forward(self, counts):
        h = self.embed(counts)
        for block in self.blocks:
            h = self.call(block, h)
        return self.head(h)


def tissue(profiles, count=48):
    kind = torch.randint(0, len(profiles), (count,))
    return torch.log1p(torch.poisson(profiles[kind])), kind


if __name__ == "__main__":
    torch.manual_seed(27)
    profiles = 3 * torch.rand(4, 30)
    model = CellTyper()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(15):
        counts, kind = tissue(profiles)
        loss = nn.functional.cross_entropy(model(counts), kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.4f}")
