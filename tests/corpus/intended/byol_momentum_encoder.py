import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class BYOL(nn.Module):
    def __init__(self, dim=12, tau=0.98):
        super().__init__()
        self.online = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, dim))
        self.predictor = nn.Sequential(nn.Linear(dim, 24), nn.ReLU(), nn.Linear(24, dim))
        self.target = copy.deepcopy(self.online)
        for p in self.target.parameters():
            p.requires_grad = False
        self.tau = tau

    @torch.no_grad()
    def update_target(self):
        for t, o in zip(self.target.parameters(), self.online.parameters()):
            t.data = self.tau * t.data + (1 - self.tau) * o.data

    def half(self, a, b):
        p = F.normalize(self.predictor(self.online(a)), dim=1)
        with torch.no_grad():
            z = F.normalize(self.target(b), dim=1)
        return 2 - 2 * (p * z).sum(dim=1).mean()

    def forward(self, a, b):
        return self.half(a, b) + self.half(b, a)


torch.manual_seed(12)
byol = BYOL()
optimizer = torch.optim.Adam([*byol.online.parameters(), *byol.predictor.parameters()], lr=2e-3)
for step in range(40):
    x = torch.randn(32, 10)
    loss = byol(x + 0.1 * torch.randn_like(x), x * (torch.rand_like(x) > 0.1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    byol.update_target()
print("byol loss", loss.item())
