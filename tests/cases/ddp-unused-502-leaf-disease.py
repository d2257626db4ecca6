from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


@dataclass
class Schedule:
    epochs: int = 4
    steps: int = 3
    outline_from: int = 2
    outline_weight: float = 0.4


class LeafNet(nn.Module):
    def __init__(self, width=12, diseases=4):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1), nn.ReLU())
        self.outline = nn.Conv2d(width, 1, 1)
        self.disease = nn.Linear(width, diseases)

    def forward(self, image):
        h = self.trunk(image)
        return self.disease(h.mean((2, 3))), self.outline(h).squeeze(1)


class Criterion:
    def __init__(self, schedule):
        self.schedule = schedule

    def __call__(self, output, target, epoch):
        logits, outline = output
        label, mask = target
        loss = F.cross_entropy(logits, label)
        if epoch >= self.schedule.outline_from:
            loss = loss + self.schedule.outline_weight * F.binary_cross_entropy_with_logits(outline, mask)
        return loss


def leaves(count=10, size=16):
    label = torch.randint(0, 4, (count,))
    ramp = torch.linspace(-1, 1, size)
    mask = ((ramp[:, None] ** 2 + ramp**2) < torch.rand(count, 1, 1) + 0.2).float()
    tint = torch.stack([label / 3, 1 - label / 3, torch.full((count,), 0.2)], dim=1)
    return mask[:, None] * tint[:, :, None, None] + 0.05 * torch.randn(count, 3, size, size), (label, mask)


def main(schedule):
    model = DistributedDataParallel(LeafNet())
    criterion = Criterion(schedule)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(schedule.epochs):
        for _ in range(schedule.steps):
            image, target = leaves()
            loss = criterion(model(image), target, epoch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    torch.manual_seed(16)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    main(Schedule())
    dist.destroy_process_group()
