"""Solve a differential equation with a network (PINN): u'' = -u with u(0) = 0 and u'(0) = 1, whose solution is sin(x)."""

import torch
from torch import nn

torch.manual_seed(0)
network = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 800)


def derivative(y, x):
    """dy/dx at each point, with a graph: a loss can be made of it, and a further derivative."""
    (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return slope


def losses():
    x = (3.2 * torch.rand(64, 1) - 0.1).requires_grad_(True)
    u = network(x)
    u_xx = derivative(derivative(u, x), x)
    residual = (u_xx + u).square().mean()
    start = torch.zeros(1, 1, requires_grad=True)
    u_start = network(start)
    conditions = u_start.square().mean() + (derivative(u_start, start) - 1).square().mean()
    return residual, conditions


history = []
for _ in range(800):
    residual, conditions = losses()
    loss = residual + 20 * conditions
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    history.append(loss.item())

# The helper is right on a function whose derivatives are known, in double precision.
x = torch.linspace(-1, 1, 5, dtype=torch.float64).requires_grad_(True)
first = derivative(x**3, x)
assert torch.allclose(first, 3 * x**2) and torch.allclose(derivative(first, x), 6 * x)

# The residual reaches every parameter but the last bias by its second derivative, and that one by u itself.
residual, _ = losses()
gradients = torch.autograd.grad(residual, list(network.parameters()))
assert all(gradient.abs().sum() > 0 for gradient in gradients)

x = torch.linspace(0, 3, 50).unsqueeze(1).requires_grad_(True)
u = network(x)
error = (u - x.sin()).abs().max().item()
curvature = (derivative(derivative(u, x), x) + x.sin()).abs().max().item()
assert history[-1] < history[0] / 100
assert error < 0.1 and curvature < 0.2
print(f"loss {history[0]:.3g} -> {history[-1]:.3g}, error {error:.3f}, error of u'' {curvature:.3f}")
