"""Insects in three tasks: each brings two more classes."""

import torch
from torch import nn


class GrowingNet(nn.Module):
    def __init__(self, inputs=10, width=24, classes=2):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(inputs, width), nn.ReLU())
        self.head = nn.Linear(width, classes)

    @property
    def classes(self):
        return self.head.out_features

    def grow(self, more):
        old = self.head
        self.head = nn.Linear(old.in_features, old.out_features + more)
        with torch.no_grad():
            self.head.weight[: old.out_features] = old.weight
            self.head.bias[: old.out_features] = old.bias

    def forward(self, x):
        return self.head(self.trunk(x))


class Replay:
    def __init__(self, per_task=8):
        self.per_task, self.x, self.y = per_task, [], []

    def keep(self, x, y):
        self.x.append(x[: self.per_task])
        self.y.append(y[: self.per_task])

    def extend(self, x, y):
        return torch.cat([x, *self.x]), torch.cat([y, *self.y])


def task(number, count=40):
    y = torch.randint(2 * number, 2 * number + 2, (count,))
    return nn.functional.one_hot(y, 10).float() + 0.3 * torch.randn(count, 10), y


def learn(model, optimizer, x, y, epochs=4):
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(17)
    model, replay = GrowingNet(), Replay()
    for number in range(3):
        if number:
            model.grow(2)
        start = model.head.weight.detach().clone()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        x, y = task(number)
        loss = learn(model, optimizer, *replay.extend(x, y))
        replay.keep(x, y)
        print(f"task {number}: {model.classes} classes, loss {loss:.3f}")
    assert not torch.equal(start, model.head.weight)


main()
