from collections import OrderedDict

import torch
from torch import nn


class FieldEncoders(nn.Module):
    """One table for each categorical column."""

    def __init__(self, sizes, dim):
        super().__init__()
        self.tables = nn.ModuleDict({name: nn.Embedding(n, dim) for name, n in sizes.items()})

    def encode(self, row):
        return [table(row[name]) for name, table in self.tables.items()]


class ClickModel(nn.Module):
    def __init__(self, sizes, dim=6):
        super().__init__()
        self.fields = FieldEncoders(sizes, dim)
        self.dense = nn.Linear(3, dim)
        self.top = nn.Sequential(OrderedDict(fc1=nn.Linear(dim * (len(sizes) + 1), 16), act=nn.ReLU(), fc2=nn.Linear(16, 1)))

    def forward(self, row):
        parts = self.fields.encode(row) + [self.dense(row["numbers"])]
        return self.top(torch.cat(parts, dim=1)).squeeze(1)


def rows(n, sizes):
    row = {name: torch.randint(0, size, (n,)) for name, size in sizes.items()}
    row["numbers"] = torch.randn(n, 3)
    clicked = ((row["device"] == 1).float() + row["numbers"][:, 0] > 0.5).float()
    return row, clicked


def auc(scores, clicked):
    gaps = scores[clicked == 1][:, None] - scores[clicked == 0][None, :]
    return (gaps > 0).float().mean().item()


SIZES = {"device": 3, "country": 8, "hour": 24}
torch.manual_seed(30)
model = ClickModel(SIZES)
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
begin = {k: t.weight.detach().clone() for k, t in model.fields.tables.items()}
loss_fn = nn.BCEWithLogitsLoss()
for step in range(30):
    row, clicked = rows(64, SIZES)
    loss = loss_fn(model(row), clicked)
    model.zero_grad()
    loss.backward()
    optimizer.step()
with torch.inference_mode():
    row, clicked = rows(256, SIZES)
    print("auc", round(auc(model(row), clicked), 3))
assert not any(torch.equal(begin[k], t.weight) for k, t in model.fields.tables.items())
