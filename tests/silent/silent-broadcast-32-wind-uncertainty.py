import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(101)


class MeanVariance(nn.Module):
    def __init__(self, features=4, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU())
        self.mean = nn.Linear(hidden, 1)
        self.raw = nn.Linear(hidden, 1)

    def forward(self, x):
        h = self.body(x)
        return self.mean(h), F.softplus(self.raw(h)) + 1e-3


class GaussianNLL(nn.Module):
    def forward(self, mean, variance, target):
        return 0.5 * (variance.log() + (target - mean).square() / variance).mean()


def power(n=64):
    x = torch.randn(n, 4)
    noise = 0.1 + 0.3 * torch.sigmoid(2 * x[:, 3])
    return x, torch.tanh(x[:, 0]) + 0.5 * x[:, 1] + noise * torch.randn(n)


model = MeanVariance()
criterion = GaussianNLL()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for step in range(80):
    x, y = power()
    mean, variance = model(x)
    loss = criterion(mean, variance, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
