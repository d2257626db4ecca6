import torch
import torch.nn as nn
import torch.nn.functional as F

TASKS = {"species": 5, "distance": 1, "rain": 2}


class SoundNet(nn.Module):
    def __init__(self, bands=20, width=32):
        super().__init__()
        self.trunk = nn.GRU(bands, width, batch_first=True)
        self.heads = nn.ModuleDict({task: nn.Linear(width, size) for task, size in TASKS.items()})

    def forward(self, frames):
        out, _ = self.trunk(frames)
        pooled = out.mean(dim=1)
        return {task: head(pooled) for task, head in self.heads.items()}


class Combined:
    def __init__(self, weights=None):
        self.weights = weights or {task: 1.0 for task in TASKS}

    def each(self, outputs, labels):
        return {
            "species": F.cross_entropy(outputs["species"], labels["species"]),
            "distance": F.smooth_l1_loss(outputs["distance"].squeeze(1), labels["distance"]),
            "rain": F.cross_entropy(outputs["rain"], labels["rain"]),
        }

    def __call__(self, outputs, labels):
        losses = self.each(outputs, labels)
        values = [self.weights[task] * losses[task] for task in TASKS]
        total = torch.stack(values).sum()
        return total, {task: loss.item() for task, loss in losses.items()}


def recordings(count=24):
    labels = {
        "species": torch.randint(5, (count,)),
        "distance": torch.rand(count),
        "rain": torch.randint(2, (count,)),
    }
    return torch.randn(count, 15, 20), labels


if __name__ == "__main__":
    torch.manual_seed(19)
    net = SoundNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    combine = Combined({"species": 1.0, "distance": 0.5, "rain": 0.2})
    for step in range(4):
        frames, labels = recordings()
        loss, parts = combine(net(frames), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item(), parts)
    assert all(p.grad is not None for p in net.parameters())
