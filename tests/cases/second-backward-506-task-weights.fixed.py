import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(52)
TASKS = ("price", "rooms", "year")


class HouseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU())
        self.heads = nn.ModuleDict({task: nn.Linear(24, 1) for task in TASKS})

    def forward(self, x):
        h = self.trunk(x)
        return {task: head(h).squeeze(1) for task, head in self.heads.items()}


class DynamicWeights:
    def __init__(self, temperature=2.0):
        self.temperature = temperature
        self.history = []

    def __call__(self):
        if len(self.history) < 2:
            return torch.ones(len(TASKS))
        ratio = self.history[-1] / self.history[-2]
        return len(TASKS) * F.softmax(ratio / self.temperature, dim=0)

    def update(self, losses):
        self.history.append((losses / losses.sum()).detach())


def houses(count=64):
    x = torch.randn(count, 6)
    y = {"price": x[:, 0] * 2 + x[:, 1], "rooms": x[:, 2].abs(), "year": torch.sin(x[:, 3]) + x[:, 4]}
    return x, y


def run(epochs=6, batches=5):
    net, weights = HouseNet(), DynamicWeights()
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(epochs):
        current = weights()
        for _ in range(batches):
            x, y = houses()
            out = net(x)
            losses = torch.stack([F.mse_loss(out[task], y[task]) for task in TASKS])
            optimizer.zero_grad()
            (current * losses).sum().backward()
            optimizer.step()
        weights.update(losses)
        shown = " ".join(f"{task} {value:.3f}" for task, value in zip(TASKS, losses.tolist()))
        print(f"epoch {epoch}  {shown}")


if __name__ == "__main__":
    run()
