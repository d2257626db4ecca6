import torch
from torch import nn
import torch.nn.functional as F


class FrameConv(nn.Module):
    def __init__(self, bands, width):
        super().__init__()
        self.conv = nn.Conv1d(bands, width, 3, padding=1)
        self.norm = nn.BatchNorm1d(width)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)))


class StatsPool(nn.Module):
    def __init__(self):
        super().__init__()
        self.last_range = None

    def forward(self, x):
        x = x.detach()
        self.last_range = (x.min().item(), x.max().item())
        return torch.cat([x.mean(-1), x.std(-1)], dim=1)


class SpeakerEncoder(nn.Module):
    def __init__(self, bands=10, width=16):
        super().__init__()
        self.frames = nn.Sequential(FrameConv(bands, width), FrameConv(width, width))
        self.pool = StatsPool()

    def forward(self, x):
        return self.pool(self.frames(x))


def pairs(count, bands=10, length=20):
    voice = torch.randn(count, bands, 1)
    return voice + 0.5 * torch.randn(count, bands, length), voice + 0.5 * torch.randn(count, bands, length)


def contrast(a, b, temperature=0.2):
    a, b = F.normalize(a, dim=1), F.normalize(b, dim=1)
    logits = a @ b.t() / temperature
    hits = logits.argmax(1).eq(torch.arange(len(a))).float().mean().item()
    return F.cross_entropy(logits, torch.arange(len(a))), hits


def main():
    torch.manual_seed(13)
    encoder = SpeakerEncoder()
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=2e-3)
    for step in range(20):
        first, second = pairs(16)
        loss, hits = contrast(encoder(first), encoder(second))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            low, high = encoder.pool.last_range
            print(f"{step:2d} loss {loss.item():.3f} hits {hits:.2f} range {low:.2f} to {high:.2f}")


main()
