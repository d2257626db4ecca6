from functools import partial

import torch
import torch.nn.functional as F
from torch import nn, optim


def fold(fn):
    """Turn a per-sensor loss into a loss over a dict of sensors."""

    def over_all(outputs, targets, **kwargs):
        values = [fn(outputs[key], targets[key], **kwargs) for key in sorted(outputs)]
        first = values[0]
        return torch.stack(values).mean()

    return over_all


@fold
def fit_loss(output, target, delta=1.0):
    mean, logvar = output.chunk(2, dim=-1)
    return (F.huber_loss(mean, target, delta=delta, reduction="none") * (-logvar).exp() + logvar).mean()


class SensorNet(nn.Module):
    def __init__(self, sensors, width=16):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, width), nn.LayerNorm(width), nn.GELU())
        self.heads = nn.ModuleDict({name: nn.Linear(width, 2) for name in sensors})

    def forward(self, x):
        z = self.trunk(x)
        return {name: head(z) for name, head in self.heads.items()}


def make_batch(sensors, generator):
    x = torch.randn(16, 4, generator=generator)
    return x, {name: x[:, i : i + 1] ** 2 for i, name in enumerate(sensors)}


def main(sensors=("front", "left", "right"), steps=4):
    torch.manual_seed(5)
    generator = torch.Generator().manual_seed(8)
    model = SensorNet(sensors)
    optimizer = optim.Adam(
        [
            {"params": model.trunk.parameters(), "lr": 1e-3},
            {"params": model.heads.parameters(), "lr": 5e-3},
        ]
    )
    criterion = partial(fit_loss, delta=0.5)

    def closure():
        optimizer.zero_grad()
        value = criterion(model(inputs), targets)
        value.backward()
        return value

    for _ in range(steps):
        inputs, targets = make_batch(sensors, generator)
        optimizer.step(closure)


if __name__ == "__main__":
    main()
