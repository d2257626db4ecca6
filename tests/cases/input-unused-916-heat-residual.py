import math

import torch
from torch import nn
from torch.autograd import grad


class Fourier(nn.Module):
    def __init__(self, dim, features):
        super().__init__()
        self.register_buffer("freq", torch.randn(dim, features))

    def forward(self, z):
        phase = math.pi * z @ self.freq
        return torch.cat([phase.sin(), phase.cos()], dim=-1)


def make_net(width=24):
    return nn.Sequential(Fourier(2, 8), nn.Linear(16, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))


def derivative(y, x, order=1):
    for _ in range(order):
        (y,) = grad(y, x, torch.ones_like(y), create_graph=True)
    return y


class HeatEquation:
    def __init__(self, alpha, n_inside=64, n_edge=16):
        self.alpha, self.n_inside, self.n_edge = alpha, n_inside, n_edge

    def sample(self):
        return torch.rand(self.n_inside, 2)

    def residual(self, net):
        points = self.sample().requires_grad_()
        u = net(points)
        x, t = points[:, :1], points[:, 1:]
        return derivative(u, t) - self.alpha * derivative(u, x, order=2)

    def initial(self, net):
        x = torch.rand(self.n_edge, 1)
        return net(torch.cat([x, torch.zeros_like(x)], dim=1)) - torch.sin(math.pi * x)

    def boundary(self, net):
        t = torch.rand(self.n_edge, 1)
        sides = [net(torch.cat([torch.full_like(t, s), t], dim=1)) for s in (0.0, 1.0)]
        return torch.cat(sides)

    def loss(self, net):
        parts = {
            "pde": self.residual(net),
            "ic": 10 * self.initial(net),
            "bc": self.boundary(net),
        }
        return {name: value.pow(2).mean() for name, value in parts.items()}


def solve(problem, steps):
    net = make_net()
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for step in range(steps):
        losses = problem.loss(net)
        optimizer.zero_grad()
        sum(losses.values()).backward()
        optimizer.step()
        if step % 5 == 0:
            print(step, {name: f"{value.item():.3g}" for name, value in losses.items()})
    return net


torch.manual_seed(0)
solve(HeatEquation(alpha=0.1), steps=6)
