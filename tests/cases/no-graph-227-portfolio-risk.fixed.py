import numpy as np
import torch
from torch import nn

torch.manual_seed(4)
rng = np.random.default_rng(4)


def market(days=300, assets=6):
    loads = rng.normal(size=(2, assets))
    factors = rng.normal(size=(days, 2)) * 0.01
    return (factors @ loads + rng.normal(size=(days, assets)) * 0.005 + 0.0004).astype(np.float32)


returns = market()
covariance = np.cov(returns, rowvar=False).astype(np.float32)
average = torch.from_numpy(returns.mean(axis=0))


class Allocation(nn.Module):
    def __init__(self, assets):
        super().__init__()
        self.scores = nn.Parameter(0.1 * torch.randn(assets))

    def forward(self):
        return torch.softmax(self.scores, dim=0)


def risk(weights):
    matrix = torch.from_numpy(covariance)
    return torch.sqrt(weights @ matrix @ weights)


def gain(weights):
    return weights @ average


def optimise(allocation, objective, steps=40, lr=0.1):
    optimizer = torch.optim.Adam(allocation.parameters(), lr=lr)
    for step in range(steps):
        weights = allocation()
        value = objective(weights)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"{step:2d} {value.item():+.5f} risk {risk(weights).item():.5f}")
    return allocation().detach().numpy().round(3)


greedy = optimise(Allocation(6), lambda w: -gain(w) * 100)
print("greedy", greedy)
calm = optimise(Allocation(6), risk)
print("calm", calm)
