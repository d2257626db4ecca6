import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(133)


class Mean:
    def __init__(self):
        self.reset()

    def reset(self):
        self.total, self.count = 0, 0

    def update(self, value, n):
        self.total += value * n
        self.count += n

    def compute(self):
        return self.total / max(1, self.count)


class Segmenter(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 1, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


def tiles(n=6):
    x = torch.rand(n, 3, 12, 12)
    return x, (x[:, 0] > x[:, 1]).float()


def epoch(model, optimizer, meter, steps=15):
    meter.reset()
    for _ in range(steps):
        x, mask = tiles()
        loss = F.binary_cross_entropy_with_logits(model(x), mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(loss.item(), len(x))
    return meter.compute()


model, meter = Segmenter(), Mean()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for e in range(3):
    print(f"epoch {e}: {epoch(model, optimizer, meter):.4f}")
