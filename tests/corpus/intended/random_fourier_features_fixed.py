import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Fourier(nn.Module):
    def __init__(self, inputs, features, scale=2.0):
        super().__init__()
        self.register_buffer("b", scale * torch.randn(inputs, features))

    def forward(self, x):
        angle = 2 * math.pi * x @ self.b
        return torch.cat([angle.sin(), angle.cos()], dim=-1)


class Gaussian(nn.Module):
    """Fixed projection kept as a parameter so that it is saved and moved with the model."""

    def __init__(self, inputs, features):
        super().__init__()
        self.w = nn.Parameter(torch.randn(inputs, features), requires_grad=False)

    def forward(self, x):
        return torch.cos(x @ self.w)


torch.manual_seed(110)
net = nn.Sequential(Fourier(2, 16), nn.Linear(32, 24), nn.ReLU(), Gaussian(24, 16), nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(50):
    xy = torch.rand(64, 2)
    loss = F.mse_loss(net(xy), torch.sin(6 * xy[:, :1]) * xy[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
