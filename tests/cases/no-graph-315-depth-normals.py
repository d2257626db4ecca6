import torch
import torch.nn as nn
import torch.nn.functional as F


class SharedNet(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1), nn.ReLU())
        self.depth, self.normals, self.parts = (nn.Conv2d(width, n, 1) for n in (1, 3, 5))

    def forward(self, x):
        h = self.trunk(x)
        return {"depth": self.depth(h), "normals": F.normalize(self.normals(h), dim=1), "parts": self.parts(h)}


class LossBook:
    def __init__(self, names):
        self.history = {name: [] for name in names}
        self.weights = {name: torch.tensor(1.0) for name in names}

    def record(self, losses):
        for name, value in losses.items():
            self.history[name].append(value.detach())

    def rebalance(self, temperature=2.0):
        names = list(self.history)
        if len(self.history[names[0]]) < 3:
            return
        speed = torch.stack([self.history[n][-1] / self.history[n][-3] for n in names])
        share = torch.softmax(speed / temperature, 0) * len(names)
        self.weights = dict(zip(names, share))

    def latest(self):
        return {name: values[-1] for name, values in self.history.items()}

    def combine(self):
        current = self.latest()
        return sum(self.weights[name] * current[name] for name in current)


def task_losses(outputs, batch):
    valid = (batch["depth"] > 0.1).float()
    depth = (valid * (outputs["depth"] - batch["depth"]).abs()).sum() / valid.sum()
    normals = 1 - (outputs["normals"] * batch["normals"]).sum(1).mean()
    return {"depth": depth, "normals": normals, "parts": F.cross_entropy(outputs["parts"], batch["parts"])}


def make_batch(size=4, side=14):
    return {
        "image": torch.rand(size, 3, side, side),
        "depth": torch.rand(size, 1, side, side),
        "normals": F.normalize(torch.randn(size, 3, side, side), dim=1),
        "parts": torch.randint(0, 5, (size, side, side)),
    }


def main(steps=12):
    torch.manual_seed(33)
    model, book = SharedNet(), LossBook(["depth", "normals", "parts"])
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(steps):
        batch = make_batch()
        losses = task_losses(model(batch["image"]), batch)
        book.record(losses)
        book.rebalance()
        total = book.combine()
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        if step % 4 == 0:
            print(step, {k: round(v.item(), 3) for k, v in book.latest().items()})


if __name__ == "__main__":
    main()
