import random

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(44)
random.seed(44)


class Net(nn.Module):
    def __init__(self, dim=16, depth=4, drop=0.4):
        super().__init__()
        self.inp, self.out = nn.Linear(5, dim), nn.Linear(dim, 1)
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(dim, dim), nn.Tanh()) for _ in range(depth))
        self.drop = drop

    def forward(self, x):
        x = self.inp(x)
        for layer in self.layers:
            if self.training and random.random() < self.drop:
                continue
            x = x + (layer(x) if self.training else (1 - self.drop) * layer(x))
        return self.out(x)


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
net.train()
for step in range(40):
    x = torch.randn(32, 5)
    loss = F.mse_loss(net(x), x.sum(dim=1, keepdim=True).sin())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
