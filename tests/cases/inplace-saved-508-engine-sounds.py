import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(58)


class RunningScale(nn.Module):
    def __init__(self, width, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("center", torch.zeros(width))
        self.register_buffer("scale", torch.ones(width))

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                self.center += self.momentum * (x.mean(0) - self.center)
                self.scale += self.momentum * (x.std(0) - self.scale)
        return (x - self.center) / self.scale


class SoundEncoder(nn.Module):
    def __init__(self, bands=20, width=16):
        super().__init__()
        self.inner = nn.Linear(bands, 32)
        self.scale = RunningScale(32)
        self.outer = nn.Linear(32, width)

    def forward(self, bands):
        return F.normalize(self.outer(F.relu(self.scale(self.inner(bands)))), dim=1)


class TripletTrainer:
    def __init__(self, encoder, margin=0.3):
        self.encoder = encoder
        self.loss = nn.TripletMarginLoss(margin)
        self.optimizer = torch.optim.AdamW(encoder.parameters(), lr=2e-3)

    def fit(self, source, steps):
        for _ in range(steps):
            codes = [self.encoder(part) for part in source()]
            loss = self.loss(*codes)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()


def triplets(count=32, bands=20):
    engines = torch.randn(4, bands)
    def draw():
        same = torch.randint(4, (count,))
        other = (same + torch.randint(1, 4, (count,))) % 4
        return tuple(engines[k] + 1.6 * torch.randn(count, bands) for k in (same, same, other))
    return draw


encoder = SoundEncoder()
trainer = TripletTrainer(encoder)
source = triplets()
for epoch in range(3):
    print(f"epoch {epoch}  triplet loss {trainer.fit(source, 15):.4f}")
