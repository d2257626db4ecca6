import torch
import torch.nn as nn

torch.manual_seed(34)
net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
zero = torch.zeros(1, 1, requires_grad=True)
for step in range(60):
    t = (torch.rand(64, 1) * 3).requires_grad_(True)
    u = net(t)
    (du,) = torch.autograd.grad(u.sum(), t, create_graph=True)
    (ddu,) = torch.autograd.grad(du.sum(), t, create_graph=True)
    physics = (ddu + 0.4 * du + 4 * u).pow(2).mean()
    u0 = net(zero)
    (du0,) = torch.autograd.grad(u0.sum(), zero, create_graph=True)
    start = (u0 - 1).pow(2).mean() + du0.pow(2).mean()
    loss = physics + 10 * start
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, physics.item(), start.item())
