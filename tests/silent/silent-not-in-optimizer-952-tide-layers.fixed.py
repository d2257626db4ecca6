import math

import torch
import torch.nn as nn


class Sine(nn.Module):
    def __init__(self, inputs, outputs, omega=6.0, first=False):
        super().__init__()
        self.omega = omega
        self.linear = nn.Linear(inputs, outputs)
        bound = 1 / inputs if first else math.sqrt(6 / inputs) / omega
        nn.init.uniform_(self.linear.weight, -bound, bound)

    def forward(self, x):
        return torch.sin(self.omega * self.linear(x))


class TideField(nn.Module):
    def __init__(self, inputs=3, width=24, depth=3):
        super().__init__()
        self.enter = Sine(inputs, width, first=True)
        self.hidden = nn.ModuleList()
        for _ in range(depth):
            self.hidden.append(Sine(width, width))
        self.leave = nn.Linear(width, 1)

    def forward(self, place):
        x = self.enter(place)
        for layer in self.hidden:
            x = layer(x)
        return self.leave(x)


def survey(count):
    place = torch.rand(count, 3) * 2 - 1
    height = torch.sin(3 * place[:, :1]) * torch.cos(2 * place[:, 1:2]) + 0.1 * place[:, 2:]
    return place, height


def fit(field, epochs=3, batch=64):
    place, height = survey(256)
    optimizer = torch.optim.Adam(field.parameters(), lr=1e-3)
    for epoch in range(epochs):
        order = torch.randperm(len(place))
        for start in range(0, len(place), batch):
            rows = order[start : start + batch]
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(field(place[rows]), height[rows])
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


torch.manual_seed(14)
field = TideField()
start = field.hidden[0].linear.weight.detach().clone()
fit(field)
assert not torch.equal(start, field.hidden[0].linear.weight)
