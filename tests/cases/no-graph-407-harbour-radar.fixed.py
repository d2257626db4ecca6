import torch
from torch import nn
import torch.nn.functional as F


class RadarNet(nn.Module):
    def __init__(self, echoes=24, width=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(echoes, width), nn.ReLU())
        self.heads = nn.ModuleDict({"range": nn.Linear(width, 1), "bearing": nn.Linear(width, 2), "vessel": nn.Linear(width, 4)})

    def forward(self, x):
        h = self.trunk(x)
        return {task: head(h) for task, head in self.heads.items()}


LOSSES = {
    "range": lambda out, y: F.smooth_l1_loss(out.squeeze(1), y),
    "bearing": lambda out, y: 1 - F.cosine_similarity(out, y).mean(),
    "vessel": F.cross_entropy,
}


def combine(outputs, targets, weights):
    total, parts = torch.zeros(()), {}
    for task, criterion in LOSSES.items():
        parts[task] = criterion(outputs[task], targets[task])
        total = total + weights[task] * parts[task]
    return total, parts


def batch(size=32):
    angle = torch.rand(size) * 6.28
    distance = torch.rand(size)
    kind = torch.randint(0, 4, (size,))
    echo = torch.randn(size, 24) * 0.1 + distance[:, None] + torch.sin(angle[:, None] + torch.arange(24.0) * kind[:, None])
    return echo, {"range": distance, "bearing": torch.stack([angle.cos(), angle.sin()], dim=1), "vessel": kind}


def main():
    torch.manual_seed(407)
    net = RadarNet()
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)
    weights = {"range": 1.0, "bearing": 0.5, "vessel": 2.0}
    for step in range(8):
        echo, targets = batch()
        total, parts = combine(net(echo), targets, weights)
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        print(step, {k: round(float(v), 3) for k, v in parts.items()})


main()
