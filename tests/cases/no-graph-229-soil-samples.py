import numpy as np
import torch
from torch import nn

torch.manual_seed(10)
QUANTILES = (0.1, 0.5, 0.9)


def pinball(residual, q):
    r = residual.numpy(force=True)
    cost = np.where(r >= 0, q * r, (q - 1) * r)
    return torch.as_tensor(cost.mean())


def coverage(low, high, y):
    low, high = low.detach().numpy(), high.detach().numpy()
    return float(np.mean((y.numpy() >= low) & (y.numpy() <= high)))


def build(features):
    net = nn.Sequential()
    net.add_module("hidden", nn.Linear(features, 24))
    net.add_module("act", nn.SiLU())
    net.add_module("out", nn.Linear(24, len(QUANTILES)))
    return net


def soil(n):
    x = torch.rand(n, 4)
    y = 3 * x[:, 0] + x[:, 1] * torch.randn(n)
    return x, y


def fit(net, x, y, epochs=20, lr=0.01):
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    for epoch in range(epochs):
        out = net(x)
        loss = sum(pinball(y - out[:, i], q) for i, q in enumerate(QUANTILES))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 5 == 0:
            print(epoch, round(loss.item(), 4), round(coverage(out[:, 0], out[:, -1], y), 3))


x, y = soil(256)
net = build(4)
fit(net, x, y)
