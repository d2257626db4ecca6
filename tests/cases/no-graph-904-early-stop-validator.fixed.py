import copy
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Sines(Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.items = [(rng.uniform(-3, 3), rng.gauss(0, 0.05)) for _ in range(n)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        x, noise = self.items[i]
        x = torch.tensor([x])
        return x, torch.sin(x) + noise


class Validator:
    def __init__(self, loader, patience):
        self.loader, self.patience = loader, patience
        self.best, self.bad, self.weights = float("inf"), 0, None

    def score(self, model):
        errors = [nn.functional.l1_loss(model(x), y, reduction="none") for x, y in self.loader]
        return torch.cat(errors).mean().item()

    def __call__(self, model):
        model.eval()
        with torch.no_grad():
            score = self.score(model)
        if score < self.best:
            self.best, self.bad = score, 0
            self.weights = copy.deepcopy(model.state_dict())
            return False
        self.bad += 1
        return self.bad >= self.patience


def run_epoch(model, loader, optimizer, loss_fn):
    model.train()
    seen = total = 0
    for x, y in loader:
        loss = loss_fn(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen, total = seen + len(x), total + loss.item() * len(x)
    return total / seen


def main():
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(1, 32), nn.SiLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    stop = Validator(DataLoader(Sines(32, 5), batch_size=16), patience=2)
    train = DataLoader(Sines(64, 4), batch_size=16, shuffle=True)
    for epoch in range(4):
        loss = run_epoch(model, train, optimizer, nn.HuberLoss())
        scheduler.step()
        if stop(model):
            break
    model.load_state_dict(stop.weights)


main()
