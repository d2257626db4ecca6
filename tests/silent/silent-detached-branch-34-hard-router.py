import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(55)


class Expert(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


class RoutedModel(nn.Module):
    def __init__(self, dim=5, experts=3):
        super().__init__()
        self.router = nn.Linear(dim, experts)
        self.experts = nn.ModuleList(Expert(dim) for _ in range(experts))

    def forward(self, x):
        choice = self.router(x).argmax(dim=-1)
        weights = F.one_hot(choice, len(self.experts)).float()
        outputs = torch.stack([e(x) for e in self.experts], dim=-1)
        return (weights * outputs).sum(dim=-1)


def regimes(n=96):
    x = torch.randn(n, 5)
    kind = x[:, :3].argmax(dim=1)
    return x, torch.stack([2 * x[:, 3], -x[:, 4], x[:, 3] * x[:, 4]], dim=1).gather(1, kind[:, None]).squeeze(1)


model = RoutedModel()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(80):
    x, y = regimes()
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
