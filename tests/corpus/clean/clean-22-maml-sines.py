import math

import torch
from torch import nn
from torch.func import functional_call


class Net(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(1, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.layers(x)


class Sines:
    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)

    def uniform(self, low, high, *shape):
        return low + (high - low) * torch.rand(*shape, generator=self.generator)

    def task(self):
        height, phase = self.uniform(0.5, 2.0, 1), self.uniform(0, math.pi, 1)

        def draw(count):
            x = self.uniform(-5, 5, count, 1)
            return x, height * torch.sin(x + phase)

        return draw(10), draw(10)


def adapt(model, weights, support, lr, steps, second_order=True):
    x, y = support
    for _ in range(steps):
        loss = nn.functional.mse_loss(functional_call(model, weights, (x,)), y)
        grads = torch.autograd.grad(loss, list(weights.values()), create_graph=second_order)
        weights = {name: w - lr * g for (name, w), g in zip(weights.items(), grads)}
    return weights


def meta_step(model, tasks, optimizer, inner_lr=0.01, inner_steps=2):
    optimizer.zero_grad()
    total = 0.0
    for support, (x, y) in tasks:
        fast = adapt(model, dict(model.named_parameters()), support, inner_lr, inner_steps)
        loss = nn.functional.mse_loss(functional_call(model, fast, (x,)), y) / len(tasks)
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


def evaluate(model, tasks, inner_lr=0.01):
    scores = []
    for support, (x, y) in tasks:
        weights = {name: p.detach().clone().requires_grad_() for name, p in model.named_parameters()}
        fast = adapt(model, weights, support, inner_lr, 3, second_order=False)
        with torch.no_grad():
            scores.append(nn.functional.mse_loss(functional_call(model, fast, (x,)), y).item())
    return sum(scores) / len(scores)


def main():
    torch.manual_seed(5)
    source, held_out = Sines(0), Sines(1)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    tests = [held_out.task() for _ in range(4)]
    for step in range(5):
        value = meta_step(model, [source.task() for _ in range(4)], optimizer)
        print(step, value, evaluate(model, tests))


if __name__ == "__main__":
    main()
