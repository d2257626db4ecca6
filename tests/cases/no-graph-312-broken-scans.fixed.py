import contextlib

import torch
import torch.nn as nn

torch.manual_seed(60)


@contextlib.contextmanager
def evaluation(model):
    was_training = model.training
    previous = torch.is_grad_enabled()
    model.eval()
    torch.set_grad_enabled(False)
    try:
        yield model
    finally:
        torch.set_grad_enabled(previous)
        model.train(was_training)


class CorruptScan(Exception):
    pass


class ScanFolder:
    def __init__(self, count, broken=()):
        self.scans = torch.randn(count, 1, 20, 20)
        self.ages = 20 + 60 * torch.rand(count, 1)
        self.broken = set(broken)

    def batches(self, size):
        for start in range(0, len(self.scans), size):
            yield range(start, min(start + size, len(self.scans)))

    def load(self, rows):
        for row in rows:
            if row in self.broken:
                raise CorruptScan(f"scan {row} has a wrong header")
        rows = list(rows)
        return self.scans[rows], self.ages[rows] / 100


class BrainAge(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, width, 3, stride=2), nn.ReLU(), nn.Conv2d(width, width, 3, stride=2), nn.ReLU())
        self.age = nn.Linear(width, 1)

    def forward(self, x):
        return self.age(self.features(x).mean((2, 3)))


def validate(model, folder, criterion):
    total, seen = 0.0, 0
    for rows in folder.batches(10):
        try:
            with evaluation(model):
                scans, ages = folder.load(rows)
                total += criterion(model(scans), ages).item() * len(rows)
                seen += len(rows)
        except CorruptScan as problem:
            print("  skipped:", problem)
    return total / max(seen, 1)


def main(epochs=3):
    train_folder, valid_folder = ScanFolder(48), ScanFolder(30, broken=[13])
    model, criterion = BrainAge(), nn.L1Loss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for epoch in range(epochs):
        for rows in train_folder.batches(12):
            scans, ages = train_folder.load(rows)
            loss = criterion(model(scans), ages)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} train {loss.item():.4f} valid {validate(model, valid_folder, criterion):.4f}")


if __name__ == "__main__":
    main()
