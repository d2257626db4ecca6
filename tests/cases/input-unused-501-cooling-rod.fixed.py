import math

import torch
import torch.nn as nn

torch.manual_seed(1)


class Field(nn.Module):
    def __init__(self, width=24, depth=3):
        super().__init__()
        layers = [nn.Linear(2, width), nn.Tanh()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), nn.Tanh()]
        self.net = nn.Sequential(*layers, nn.Linear(width, 1))

    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=1))


class HeatProblem:
    def __init__(self, diffusivity=0.1):
        self.k = diffusivity
        self.field = Field()

    def interior(self, n):
        x = torch.rand(n, 1, requires_grad=True)
        t = torch.rand(n, 1, requires_grad=True)
        return x, t

    def jacobian(self, u, x, t):
        point = (x, t)
        slope = torch.autograd.grad(u, point, torch.ones_like(u), create_graph=True)
        return slope[0], slope[1]

    def residual(self, n=128):
        x, t = self.interior(n)
        u = self.field(x, t)
        u_x, u_t = self.jacobian(u, x, t)
        u_xx, _ = self.jacobian(u_x, x, t)
        return u_t - self.k * u_xx

    def initial(self, n=64):
        x = torch.rand(n, 1)
        return self.field(x, torch.zeros_like(x)) - torch.sin(math.pi * x)

    def walls(self, n=64):
        t = torch.rand(n, 1)
        ends = torch.randint(0, 2, (n, 1)).float()
        return self.field(ends, t)

    def loss(self):
        parts = self.residual(), self.initial(), self.walls()
        return sum(p.pow(2).mean() for p in parts)


problem = HeatProblem()
optimizer = torch.optim.Adam(problem.field.parameters(), lr=2e-3)
for step in range(61):
    optimizer.zero_grad()
    loss = problem.loss()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"{step:4d}  {loss.item():.5f}")
