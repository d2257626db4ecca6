import logging

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

log = logging.getLogger("train")
CONFIG = {
    "lr": 2e-3,
    "epochs": 2,
    "weights": {"depth": 1.0, "semantic": 1.0, "normal": 0.5},
}


class Roads(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        image = torch.rand(3, 8, 8, generator=g)
        return image, {
            "depth": image.mean(0, keepdim=True),
            "semantic": (image[0] > image[1]).long(),
            "normal": F.normalize(image - 0.5, dim=0),
        }


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.ReLU())
        self.heads = nn.ModuleDict({"depth": nn.Conv2d(12, 1, 1), "semantic": nn.Conv2d(12, 2, 1), "normal": nn.Conv2d(12, 3, 1)})

    def forward(self, x):
        h = self.trunk(x)
        return {name: head(h) for name, head in self.heads.items()}


def task_losses(out, target):
    return {
        "depth": F.l1_loss(out["depth"], target["depth"]),
        "semantic": F.cross_entropy(out["semantic"], target["semantic"]),
        "normal": 1 - F.cosine_similarity(out["normal"], target["normal"], dim=1).mean(),
    }


def combine(losses, weights):
    total = 0.0
    for name, value in losses.items():
        total = total + weights[name] * value if name in weights else total
    return total


torch.manual_seed(3)
net = MultiTask()
optimizer = torch.optim.Adam(net.parameters(), lr=CONFIG["lr"])
for epoch in range(CONFIG["epochs"]):
    for image, target in DataLoader(Roads(), batch_size=8, shuffle=True):
        losses = task_losses(net(image), target)
        optimizer.zero_grad(set_to_none=True)
        combine(losses, CONFIG["weights"]).backward()
        optimizer.step()
    log.warning("epoch %d %s", epoch, {k: round(v.item(), 3) for k, v in losses.items()})
assert all(p.grad is not None for p in net.heads["normal"].parameters())
