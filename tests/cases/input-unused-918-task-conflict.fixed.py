import random

import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, dim, width, pooled=False):
        super().__init__()
        self.pooled = pooled
        self.layers = nn.Sequential(nn.Linear(dim, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.projection = nn.Linear(width, width) if pooled else None

    def forward(self, x):
        hidden = self.layers(x)
        return self.projection(hidden.mean(0, keepdim=True)) if self.pooled else hidden


class MultiTask(nn.Module):
    def __init__(self, dim=8, width=16):
        super().__init__()
        self.encoder = Encoder(dim, width)
        self.price = nn.Linear(width, 1)
        self.kind = nn.Linear(width, 3)

    def shared_parameters(self):
        return list(self.encoder.parameters())

    def losses(self, x, price, kind):
        hidden = self.encoder(x)
        yield F.smooth_l1_loss(self.price(hidden).squeeze(-1), price)
        yield F.cross_entropy(self.kind(hidden), kind)


def flat(grads):
    return torch.cat([g.reshape(-1) for g in grads])


def project(a, b):
    dot = torch.dot(a, b)
    return a - dot / b.square().sum() * b if dot < 0 else a


class ConflictFree:
    """Removes from each task's gradient the part that works against the others."""

    def __init__(self, params, optimizer):
        self.params, self.optimizer = params, optimizer

    def step(self, losses):
        per_task = [flat(torch.autograd.grad(loss, self.params, retain_graph=True)) for loss in losses]
        merged = []
        for i, own in enumerate(per_task):
            others = per_task[:i] + per_task[i + 1 :]
            for other in random.sample(others, len(others)):
                own = project(own, other)
            merged.append(own)
        self.optimizer.zero_grad()
        sum(losses).backward()
        for param, grad in zip(self.params, sum(merged).split([p.numel() for p in self.params])):
            param.grad = grad.view_as(param).clone()
        self.optimizer.step()


random.seed(0)
torch.manual_seed(0)
model = MultiTask()
surgeon = ConflictFree(model.shared_parameters(), torch.optim.Adam(model.parameters(), lr=1e-3))
for _ in range(4):
    x = torch.randn(20, 8)
    surgeon.step(list(model.losses(x, x.sum(1), x[:, :3].argmax(1))))
