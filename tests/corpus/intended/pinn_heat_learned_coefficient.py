import math

import torch
import torch.nn as nn


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 1))
        self.log_kappa = nn.Parameter(torch.tensor(0.0))

    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=1))


def grad(y, x):
    return torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y), create_graph=True)[0]


torch.manual_seed(35)
field = Field()
optimizer = torch.optim.Adam(field.parameters(), lr=5e-3)
for step in range(60):
    x = torch.rand(48, 1, requires_grad=True)
    t = torch.rand(48, 1, requires_grad=True)
    u = field(x, t)
    residual = grad(u, t) - field.log_kappa.exp() * grad(grad(u, x), x)
    with torch.no_grad():
        xd, td = torch.rand(48, 1), torch.rand(48, 1)
        data = torch.sin(math.pi * xd) * torch.exp(-0.2 * math.pi ** 2 * td)
    loss = residual.pow(2).mean() + (field(xd, td) - data).pow(2).mean()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
print(loss.item(), field.log_kappa.exp().item())
