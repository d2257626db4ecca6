import torch
import torch.nn as nn
import torch.nn.functional as F


class Universal(nn.Module):
    """One block applied several times with shared weights, as in ALBERT."""

    def __init__(self, dim=16, rounds=3):
        super().__init__()
        self.inp = nn.Linear(4, dim)
        self.block = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.out = nn.Linear(dim, 2)
        self.rounds = rounds

    def forward(self, x):
        h = self.inp(x)
        for _ in range(self.rounds):
            h = h + self.block(h)
        return self.out(h)


torch.manual_seed(22)
net = Universal()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(40):
    x = torch.randn(32, 4)
    loss = F.cross_entropy(net(x), (x[:, 0] * x[:, 1] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
