import math
from dataclasses import dataclass

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(2)


@dataclass
class Config:
    vocab: int = 30
    dim: int = 24
    length: int = 16
    radius: float = 0.05
    lr: float = 3e-3


class Positions(nn.Module):
    def __init__(self, length, dim):
        super().__init__()
        steps = torch.arange(length)[:, None] * torch.exp(torch.arange(0, dim, 2) * (-math.log(1e3) / dim))
        table = torch.stack([steps.sin(), steps.cos()], dim=-1).flatten(1)
        self.table = nn.Parameter(table, requires_grad=False)

    def forward(self, x):
        return x + self.table[: x.size(1)]


class LineClassifier(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embed = nn.Embedding(cfg.vocab, cfg.dim)
        self.positions = Positions(cfg.length, cfg.dim)
        self.layer = nn.TransformerEncoderLayer(cfg.dim, 2, 48, dropout=0.0, batch_first=True)
        self.out = nn.Linear(cfg.dim, 2)

    def forward(self, tokens):
        return self.out(self.layer(self.positions(self.embed(tokens))).mean(1))


def climb(model, weights, loss, radius):
    grads = torch.autograd.grad(loss, weights)
    norm = torch.stack([g.norm() for g in grads]).norm()
    moves = [g * radius / (norm + 1e-12) for g in grads]
    with torch.no_grad():
        for w, m in zip(weights, moves):
            w.add_(m)
    return moves


cfg = Config()
model = LineClassifier(cfg)
weights = [w for w in model.parameters() if w.requires_grad]
optimizer = torch.optim.AdamW(weights, lr=cfg.lr)
for step in range(20):
    tokens = torch.randint(cfg.vocab, (32, cfg.length))
    labels = (tokens[:, 0] > tokens[:, -1]).long()
    moves = climb(model, weights, F.cross_entropy(model(tokens), labels), cfg.radius)
    loss = F.cross_entropy(model(tokens), labels)
    optimizer.zero_grad()
    loss.backward()
    with torch.no_grad():
        for w, m in zip(weights, moves):
            w.sub_(m)
    optimizer.step()
print("loss", round(loss.item(), 4))
