import argparse
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--patience", type=int, default=2)
    return parser.parse_args([])


class Gauge(nn.Module):
    def __init__(self, inputs, hidden=24):
        super().__init__()
        self.rnn = nn.GRU(inputs, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        _, last = self.rnn(x)
        return self.out(last[-1]).squeeze(-1)


def windows(length=12, count=160):
    t = torch.arange(count + length + 1) / 6
    level = torch.sin(t) + 0.3 * torch.sin(2.7 * t) + 0.05 * torch.randn(t.shape)
    x = torch.stack([level[i : i + length] for i in range(count)]).unsqueeze(-1)
    return TensorDataset(x, level[length : length + count])


def validate(model, loader, criterion, best):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for x, y in loader:
            total += criterion(model(x), y).item() * len(x)
    score = total / len(loader.dataset)
    if math.isnan(score):
        raise ValueError("the score is not a number")
    return score, score < best


def train_epoch(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item() * len(x)
    return total / len(loader.dataset)


def main(args):
    torch.manual_seed(0)
    train_set, test_set = random_split(windows(), [128, 32])
    train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=32)
    model = Gauge(1)
    criterion = nn.SmoothL1Loss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
    best, waited = float("inf"), 0
    for epoch in range(args.epochs):
        train_loss = train_epoch(model, train_loader, criterion, optimizer)
        score, better = validate(model, test_loader, criterion, best)
        scheduler.step(score)
        best, waited = (score, 0) if better else (best, waited + 1)
        print(f"{epoch}: train {train_loss:.4f} test {score:.4f}")
        if waited >= args.patience:
            break


if __name__ == "__main__":
    main(parse())
