from collections import defaultdict

import torch
import torch.nn.functional as F
from torch import nn


class Journal:
    def __init__(self):
        self.series = defaultdict(list)

    def add(self, name, value):
        self.series[name].append(float(value))
        return value

    def last(self, name):
        return self.series[name][-1]


class TurbineNet(nn.Module):
    def __init__(self, sensors=7, width=20):
        super().__init__()
        self.inner = nn.Linear(sensors, width)
        self.outer = nn.Linear(width, 1)

    def forward(self, readings):
        return self.outer(torch.tanh(self.inner(readings))).squeeze(-1)


def attach(model, journal):
    handles = []
    for name, parameter in model.named_parameters():
        if name.endswith("weight"):
            handles.append(parameter.register_hook(lambda g, name=name: journal.add(name, g.norm())))
    return handles


def load_curve(readings):
    wind = readings[:, 0].abs()
    return wind.clamp(max=1.5) ** 3 + 0.1 * readings[:, 1]


def epoch(model, optimizer, journal, batches=8):
    total = 0.0
    for _ in range(batches):
        readings = torch.randn(64, 7)
        loss = F.huber_loss(model(readings), load_curve(readings))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += journal.add("loss", loss.item())
    return total / batches


def main():
    torch.manual_seed(4)
    journal = Journal()
    model = TurbineNet()
    handles = attach(model, journal)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for i in range(3):
        mean = epoch(model, optimizer, journal)
        print(f"epoch {i}: {mean:.4f}, inner slope {journal.last('inner.weight'):.4f}")
    for handle in handles:
        handle.remove()


main()
