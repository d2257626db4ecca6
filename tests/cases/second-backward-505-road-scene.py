import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(40)


class SharedEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 16, 3, padding=1)

    def forward(self, x):
        return F.relu(self.conv2(F.relu(self.conv1(x))))


class RoadScene(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = SharedEncoder()
        self.heads = nn.ModuleDict({"depth": nn.Conv2d(16, 1, 1), "lane": nn.Conv2d(16, 2, 1)})

    def forward(self, x):
        shared = self.encoder(x)
        return {name: head(shared) for name, head in self.heads.items()}


LOSSES = {
    "depth": lambda out, y: F.l1_loss(out.squeeze(1), y),
    "lane": lambda out, y: F.cross_entropy(out, y),
}
WEIGHTS = {"depth": 1.0, "lane": 0.5}


def scenes(count, size=12):
    x = torch.rand(count, 3, size, size)
    return x, {"depth": x.mean(1) * 2, "lane": (x[:, 0] > x[:, 2]).long()}


def backprop(outputs, targets):
    report = {}
    for name, out in outputs.items():
        loss = WEIGHTS[name] * LOSSES[name](out, targets[name])
        loss.backward()
        report[name] = loss.item()
    return report


def main():
    model = RoadScene()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(25):
        x, targets = scenes(8)
        optimizer.zero_grad()
        report = backprop(model(x), targets)
        optimizer.step()
        if step % 8 == 0:
            print(step, {k: round(v, 4) for k, v in report.items()})


main()
