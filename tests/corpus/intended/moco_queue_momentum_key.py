import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class MoCo(nn.Module):
    def __init__(self, dim=8, queue=64, m=0.95, T=0.2):
        super().__init__()
        self.query = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, dim))
        self.key = copy.deepcopy(self.query)
        for p in self.key.parameters():
            p.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(dim, queue), dim=0))
        self.m, self.T, self.pointer = m, T, 0

    @torch.no_grad()
    def advance(self, k):
        n = len(k)
        self.queue[:, self.pointer:self.pointer + n] = k.t()
        self.pointer = (self.pointer + n) % self.queue.shape[1]

    def forward(self, a, b):
        q = F.normalize(self.query(a), dim=1)
        with torch.no_grad():
            for pk, pq in zip(self.key.parameters(), self.query.parameters()):
                pk.mul_(self.m).add_(pq, alpha=1 - self.m)
            k = F.normalize(self.key(b), dim=1)
        positive = (q * k).sum(dim=1, keepdim=True)
        negative = q @ self.queue.clone().detach()
        logits = torch.cat([positive, negative], dim=1) / self.T
        self.advance(k)
        return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))


torch.manual_seed(85)
moco = MoCo()
optimizer = torch.optim.SGD(moco.query.parameters(), lr=0.1, momentum=0.9)
for step in range(30):
    x = torch.randn(16, 10)
    loss = moco(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
