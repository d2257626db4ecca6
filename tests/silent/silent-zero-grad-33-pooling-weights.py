import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(72)


class AttentionPool(nn.Module):
    def __init__(self, dim, hidden=12):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(dim, hidden), nn.Tanh(), nn.Linear(hidden, 1, bias=False))

    def forward(self, h):
        weights = F.softmax(self.score(h), dim=-1)
        return (weights * h).sum(dim=1)


class BagModel(nn.Module):
    """Multiple-instance classifier: one label for a bag of cells."""

    def __init__(self, features=6, dim=16):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(features, dim), nn.ReLU())
        self.pool = AttentionPool(dim)
        self.out = nn.Linear(dim, 1)

    def forward(self, bag):
        return self.out(self.pool(self.embed(bag))).squeeze(-1)


def bags(n=40, cells=12):
    bag = torch.randn(n, cells, 6)
    label = (torch.rand(n) < 0.5).float()
    bag[label > 0, 0] += 2.5
    return bag, label


model = BagModel()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(60):
    bag, label = bags()
    loss = F.binary_cross_entropy_with_logits(model(bag), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
