import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(75)


class PointDetector(nn.Module):
    def __init__(self, width=12, prior=1e-4):
        super().__init__()
        self.tower = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU())
        self.score = nn.Conv2d(width, 1, 1)
        self.reset(prior)

    def reset(self, prior):
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.normal_(layer.weight, std=0.01)
                nn.init.zeros_(layer.bias)
        nn.init.constant_(self.score.bias, -math.log((1 - prior) / prior))

    def forward(self, image):
        return self.score(self.tower(image)).squeeze(1)


def focal(logits, target, gamma=2.0):
    p = torch.sigmoid(logits)
    agree = p * target + (1 - p) * (1 - target)
    return ((1 - agree) ** gamma * F.binary_cross_entropy_with_logits(logits, target, reduction="none")).sum() / target.sum()


def skies(n=8, size=16):
    target = (torch.rand(n, size, size) < 0.02).float()
    target[:, 0, 0] = 1
    return (3 * target + 0.2 * torch.randn(n, size, size)).unsqueeze(1), target


net = PointDetector()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(40):
    image, target = skies()
    loss = focal(net(image), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, round(loss.item(), 4))
