import copy

import torch
from torch import nn


class RangeTest:
    """Raises the rate from step to step, notes the loss, and puts everything back."""

    def __init__(self, model, optimizer, loss_fn):
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn

    def run(self, batches, low=1e-5, high=1.0, steps=20):
        saved = copy.deepcopy(self.model.state_dict()), copy.deepcopy(self.optimizer.state_dict())
        factor = (high / low) ** (1 / (steps - 1))
        rate, curve = low, []
        for (x, y), _ in zip(batches, range(steps)):
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            self.optimizer.zero_grad()
            loss = self.loss_fn(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            curve.append((rate, loss.item()))
            rate *= factor
        self.model.load_state_dict(saved[0])
        self.optimizer.load_state_dict(saved[1])
        return min(curve, key=lambda item: item[1])[0] / 10


def batches(n=10_000):
    for _ in range(n):
        x = torch.randn(16, 4)
        yield x, x.prod(dim=1, keepdim=True)


torch.manual_seed(10)
model = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.BatchNorm1d(24), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
loss_fn = nn.MSELoss()
rate = RangeTest(model, optimizer, loss_fn).run(batches())
for group in optimizer.param_groups:
    group["lr"] = rate
for i, (x, y) in enumerate(batches(30)):
    optimizer.zero_grad()
    loss = loss_fn(model(x), y)
    loss.backward()
    optimizer.step()
print(f"rate {rate:.2e} loss {loss.item():.3f}")
