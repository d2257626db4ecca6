import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(420)


class Spotter(nn.Module):
    def __init__(self, cells=16, width=24):
        super().__init__()
        self.scan = nn.Sequential(nn.Linear(8, width), nn.ReLU())
        self.box = nn.Linear(width, 4)

    def forward(self, strip):
        return self.box(self.scan(strip))


def river(size=4, cells=16, chance=0.06):
    present = torch.rand(size, cells) < chance
    boxes = torch.rand(size, cells, 4)
    strip = torch.cat([boxes, 1 - boxes], dim=2) * present.unsqueeze(2) + 0.1 * torch.randn(size, cells, 8)
    return strip, present, boxes


def box_loss(predicted, present, boxes):
    if not present.any():
        return torch.tensor(0.0)
    return F.smooth_l1_loss(predicted[present], boxes[present])


class Loop:
    def __init__(self, model, lr=0.01):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.average = None

    def step(self):
        strip, present, boxes = river()
        loss = box_loss(self.model(strip), present, boxes)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        value = loss.item()
        self.average = value if self.average is None else 0.95 * self.average + 0.05 * value

    def run(self, steps):
        for n in range(1, steps + 1):
            self.step()
            if n % 50 == 0:
                print(f"step {n}: {self.average:.4f}")


Loop(Spotter()).run(300)
