from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Settings:
    dim: int = 8
    margin: float = 0.3
    steps: int = 15
    lr: float = 0.05


class TripletMiner:
    def __init__(self, margin):
        self.margin = margin

    def loss(self, anchors, positives, negatives):
        total = 0.0
        for a, p, n in zip(anchors, positives, negatives):
            gap = torch.dist(a, p) - torch.dist(a, n)
            total = total + (gap + self.margin).clamp(min=0)
        return total / len(anchors)


class Trainer:
    def __init__(self, encoder, settings):
        self.encoder = encoder
        self.miner = TripletMiner(settings.margin)
        self.optimizer = torch.optim.SGD(encoder.parameters(), lr=settings.lr, momentum=0.9)
        self.settings = settings
        self.log = []

    def sample(self, n=12):
        centres = torch.randn(n, 20)
        return centres, centres + 0.2 * torch.randn(n, 20), torch.randn(n, 20)

    def fit(self):
        for step in range(self.settings.steps):
            triple = [self.encoder(part) for part in self.sample()]
            loss = self.miner.loss(*triple)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.log.append(loss.item())
        return self


torch.manual_seed(21)
settings = Settings()
encoder = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, settings.dim))
before = encoder[0].weight.detach().clone()
trainer = Trainer(encoder, settings).fit()
print("first", round(trainer.log[0], 4), "last", round(trainer.log[-1], 4))
assert not before.equal(encoder[0].weight)
