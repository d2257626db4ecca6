import math

import torch
import torch.nn as nn


def hull(count, generator):
    """Points on an ellipsoid, flattened at the top."""
    u = torch.rand(count, generator=generator) * 2 * math.pi
    v = torch.acos(2 * torch.rand(count, generator=generator) - 1)
    xyz = torch.stack([2 * u.cos() * v.sin(), u.sin() * v.sin(), 0.6 * v.cos()], dim=1)
    return torch.cat([xyz[:, :2], xyz[:, 2:].clamp(max=0.3)], dim=1)


class Completer(nn.Module):
    def __init__(self, points=48):
        super().__init__()
        self.points = points
        self.per_point = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 64))
        self.decode = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, points * 3))

    def forward(self, partial):
        code = self.per_point(partial).amax(dim=1)
        return self.decode(code).view(-1, self.points, 3)


def one_sided(a, b):
    gaps = torch.cdist(a, b)
    return gaps.min(dim=2)[1].float().mean(dim=1)


def shape_distance(a, b):
    return (one_sided(a, b) + one_sided(b, a)).mean()


def main():
    torch.manual_seed(402)
    g = torch.Generator().manual_seed(1)
    whole = torch.stack([hull(64, g) for _ in range(24)])
    partial = torch.stack([cloud[cloud[:, 0].argsort()[:32]] for cloud in whole])
    net = Completer()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    for epoch in range(5):
        for part, full in zip(partial.split(8), whole.split(8)):
            loss = shape_distance(net(part), full)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} distance {loss.item():.4f}")


if __name__ == "__main__":
    main()
