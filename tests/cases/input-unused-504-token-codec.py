import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(13)


class Codebook(nn.Module):
    def __init__(self, entries=32, dim=8):
        super().__init__()
        self.codes = nn.Parameter(torch.randn(entries, dim) * 0.5)

    def forward(self, z):
        distance = (z.pow(2).sum(1, keepdim=True) - 2 * z @ self.codes.t() + self.codes.pow(2).sum(1))
        nearest = distance.argmin(dim=1)
        q = self.codes[nearest]
        pull = F.mse_loss(q.detach(), z) * 0.25 + F.mse_loss(q, z.detach())
        return q, pull, nearest


class Codec(nn.Module):
    def __init__(self, frame=20, dim=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(frame, 32), nn.GELU(), nn.Linear(32, dim))
        self.codebook = Codebook(dim=dim)
        self.decoder = nn.Sequential(nn.Linear(dim, 32), nn.GELU(), nn.Linear(32, frame))

    def forward(self, x):
        z = self.encoder(x)
        q, pull, index = self.codebook(z)
        return self.decoder(q), z, pull, index


def balance(reconstruction, pull, z, low=0.01, high=10.0):
    rec_slope = torch.autograd.grad(reconstruction, z, retain_graph=True)[0]
    pull_slope = torch.autograd.grad(pull, z, retain_graph=True)[0]
    return (rec_slope.norm() / (pull_slope.norm() + 1e-6)).clamp(low, high).detach()


def frames(count, length=20):
    start, rate = torch.rand(count, 1) * 6.28, 0.2 + torch.rand(count, 1)
    return torch.sin(start + rate * torch.arange(length))


codec = Codec()
optimizer = torch.optim.AdamW(codec.parameters(), lr=3e-3)
for step in range(80):
    x = frames(64)
    out, z, pull, index = codec(x)
    reconstruction = F.mse_loss(out, x)
    loss = reconstruction + balance(reconstruction, pull, z) * pull
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"{step:3d} rec {reconstruction.item():.4f} codes in use {index.unique().numel()}")
