import importlib
import json
import tempfile
import time
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset

CONFIG = json.loads("""
{
  "model": {"target": "torch.nn.Sequential", "layers": [["Linear", 6, 20], ["BatchNorm1d", 20], ["ReLU"], ["Dropout", 0.1], ["Linear", 20, 1]]},
  "optimizer": {"target": "torch.optim.AdamW", "lr": 0.01},
  "scheduler": {"target": "torch.optim.lr_scheduler.CosineAnnealingWarmRestarts", "T_0": 2},
  "loss": {"target": "torch.nn.MSELoss"},
  "epochs": 3, "batch": 16, "seed": 16
}
""")


def locate(path):
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def build(options, *args):
    options = dict(options)
    target = locate(options.pop("target"))
    if "layers" in options:
        args = [getattr(torch.nn, name)(*sizes) for name, *sizes in options.pop("layers")]
    return target(*args, **options)


class Rows(Dataset):
    def __init__(self, count, seed):
        generator = torch.Generator().manual_seed(seed)
        self.x = torch.randn(count, 6, generator=generator)
        self.y = (self.x @ torch.arange(6.0)).unsqueeze(1)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, row):
        return self.x[row], self.y[row]


class Trainer:
    def __init__(self, config, folder):
        torch.manual_seed(config["seed"])
        self.config, self.folder = config, Path(folder)
        self.model = build(config["model"])
        self.optimizer = build(config["optimizer"], self.model.parameters())
        self.scheduler = build(config["scheduler"], self.optimizer)
        self.loss = build(config["loss"])
        self.best, self.history = float("inf"), []

    def epoch(self, loader, training):
        self.model.train(training)
        total = 0.0
        with torch.set_grad_enabled(training):
            for x, y in loader:
                loss = self.loss(self.model(x), y)
                if training:
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()
                total += loss.item() * len(x)
        return total / len(loader.dataset)

    def save(self, path):
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}, path)

    def load(self, path):
        state = torch.load(path)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])

    def fit(self, train, valid):
        loaders = [DataLoader(part, batch_size=self.config["batch"], shuffle=i == 0) for i, part in enumerate((train, valid))]
        for epoch in range(self.config["epochs"]):
            started = time.perf_counter()
            values = {"train": self.epoch(loaders[0], True), "valid": self.epoch(loaders[1], False)}
            self.scheduler.step()
            if values["valid"] < self.best:
                self.best = values["valid"]
                self.save(self.folder / "best.pt")
            self.history.append(values | {"seconds": time.perf_counter() - started})
        self.load(self.folder / "best.pt")
        return self.history


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for row in Trainer(CONFIG, folder).fit(Rows(64, 0), Rows(32, 1)):
            print(json.dumps(row))
