from collections import deque
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(132)
random.seed(132)


class Curious(nn.Module):
    def __init__(self, obs=6, dim=12):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(obs, 24), nn.ReLU(), nn.Linear(24, dim))
        self.inverse = nn.Linear(2 * dim, 3)

    def forward(self, a, b):
        za, zb = self.encoder(a), self.encoder(b)
        return self.inverse(torch.cat([za, zb], dim=1)), zb


class Episodic:
    def __init__(self, size=400):
        self.entries = deque(maxlen=size)

    def novelty(self, feature, k=3):
        if len(self.entries) < k:
            return 1.0
        gaps = torch.stack([(feature - other).norm() for other in random.sample(list(self.entries), k)])
        return gaps.mean().item()

    def add(self, feature):
        self.entries.append(feature)


def moves(n=16):
    a = torch.randn(n, 6)
    action = torch.randint(0, 3, (n,))
    return a, a + F.one_hot(action, 6) * 0.8, action


net = Curious()
memory = Episodic()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(40):
    a, b, action = moves()
    logits, feature = net(a, b)
    loss = F.cross_entropy(logits, action)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    bonus = memory.novelty(feature[0])
    memory.add(feature[0].detach())
    if step % 10 == 0:
        print(step, round(loss.item(), 4), "bonus", round(bonus, 3))
