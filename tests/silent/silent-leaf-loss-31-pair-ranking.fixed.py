import random

import torch
from torch import nn

torch.manual_seed(3)
random.seed(3)


class Scorer(nn.Module):
    def __init__(self, features=6):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, 24), nn.Tanh(), nn.Linear(24, 1, bias=False))

    def forward(self, item):
        return self.net(item).squeeze(-1)


def hinge(better, worse, margin=1.0):
    return torch.clamp(margin - better + worse, min=0.0)


def batch_loss(model, pairs):
    losses = []
    for better, worse in pairs:
        losses.append(hinge(model(better), model(worse)))
    return torch.stack(losses).mean()


def make_pairs(items, relevance, count):
    pairs = []
    while len(pairs) < count:
        i, j = random.sample(range(len(items)), 2)
        if relevance[i] > relevance[j]:
            pairs.append((items[i], items[j]))
    return pairs


items = torch.randn(80, 6)
relevance = items[:, 0] - 2 * items[:, 3]
model = Scorer()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    total = 0.0
    for _ in range(5):
        loss = batch_loss(model, make_pairs(items, relevance, 16))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} ranking loss {total / 5:.4f}")
