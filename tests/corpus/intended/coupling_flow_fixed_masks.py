import torch
import torch.nn as nn


class Coupling(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.register_buffer("mask", mask)
        self.net = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 4))

    def forward(self, x):
        s, t = self.net(x * self.mask).chunk(2, dim=1)
        s = torch.tanh(s) * (1 - self.mask)
        t = t * (1 - self.mask)
        return x * s.exp() + t, s.sum(dim=1)


torch.manual_seed(91)
layers = nn.ModuleList(Coupling(torch.tensor(m)) for m in ([1.0, 0.0], [0.0, 1.0], [1.0, 0.0]))
optimizer = torch.optim.Adam(layers.parameters(), lr=3e-3)
for step in range(50):
    base = torch.randn(64, 2)
    x = torch.stack([base[:, 0], base[:, 0] ** 2 + 0.3 * base[:, 1]], dim=1)
    logdet = 0.0
    for layer in layers:
        x, d = layer(x)
        logdet = logdet + d
    loss = (0.5 * x.pow(2).sum(dim=1) - logdet).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
