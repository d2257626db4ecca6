import csv
import io
import math
from collections import defaultdict

import numpy as np
import torch
from torch import nn


def folds(n, k, seed=0):
    order = np.random.default_rng(seed).permutation(n)
    for part in np.array_split(order, k):
        yield torch.from_numpy(np.setdiff1d(order, part)), torch.from_numpy(part)


class Regression(nn.Module):
    def __init__(self, inputs, hidden=16, dropout=0.1):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(inputs, hidden), nn.Mish(), nn.Dropout(dropout), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x)[:, 0]


class Recorder:
    def __init__(self):
        self.rows = defaultdict(list)

    def add(self, fold, **columns):
        for name, column in columns.items():
            self.rows[fold, name].append(column)

    def column(self, fold, name):
        return np.concatenate([part.numpy() for part in self.rows[fold, name]])

    def summary(self, fold):
        pred, true = self.column(fold, "pred"), self.column(fold, "true")
        return {
            "fold": fold,
            "rmse": round(math.sqrt(np.mean((pred - true) ** 2)), 4),
            "corr": round(float(np.corrcoef(pred, true)[0, 1]), 4),
        }


def train_fold(x, y, train, epochs, recorder, fold):
    model = Regression(x.size(1))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(epochs):
        for index in train[torch.randperm(len(train))].split(16):
            pred = model(x[index])
            loss = nn.functional.mse_loss(pred, y[index])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if epoch == epochs - 1:
                recorder.add(fold, pred=pred.detach(), true=y[index])
    return model


def main():
    torch.manual_seed(21)
    x = torch.randn(60, 4)
    y = x[:, 0] * 2 - x[:, 1].abs() + 0.1 * torch.randn(60)
    recorder, table = Recorder(), io.StringIO()
    writer = csv.DictWriter(table, fieldnames=["fold", "rmse", "corr"])
    writer.writeheader()
    for fold, (train, _) in enumerate(folds(len(x), 3)):
        train_fold(x, y, train, 2, recorder, fold)
        writer.writerow(recorder.summary(fold))
    print(table.getvalue())


main()
