import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(81)


class ScalarBottleneck(nn.Module):
    def __init__(self, levels=5):
        super().__init__()
        self.half = (levels - 1) / 2

    def forward(self, z):
        bounded = torch.tanh(z) * self.half
        hard = bounded.round()
        return bounded + (hard - bounded).detach()


class Codec(nn.Module):
    def __init__(self, size=24, code=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(size, 32), nn.ReLU(), nn.Linear(32, code))
        self.bottleneck = ScalarBottleneck()
        self.dec = nn.Sequential(nn.Linear(code, 32), nn.ReLU(), nn.Linear(32, size))

    def forward(self, x):
        return self.dec(self.bottleneck(self.enc(x)))


basis = torch.randn(3, 24)


def frames(n=64):
    return torch.tanh(torch.randn(n, 3) @ basis)


codec = Codec()
optimizer = torch.optim.Adam(codec.parameters(), lr=4e-3)
for step in range(60):
    x = frames()
    loss = F.mse_loss(codec(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
