import torch
import torch.nn as nn
import torch.nn.functional as F


class GeneModel(nn.Module):
    def __init__(self, genes=30, hidden=12):
        super().__init__()
        self.select = nn.Linear(genes, hidden, bias=False)
        self.out = nn.Linear(hidden, 2)

    def forward(self, x):
        return self.out(F.relu(self.select(x)))


def l1_norm(model):
    total = 0.0
    for name, p in model.named_parameters():
        if name.endswith("weight"):
            total = total + p.abs().sum()
    return total


def patients(n=48):
    x = torch.randn(n, 30)
    return x, (x[:, 3] - x[:, 17] > 0).long()


def train(model, strength=0.01, steps=80):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(steps):
        x, y = patients()
        loss = F.cross_entropy(model(x), y) + strength * l1_norm(model)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"{step} loss {loss.item():.4f} l1 {l1_norm(model):.2f}")
    return l1_norm(model)


torch.manual_seed(161)
model = GeneModel()
final = train(model)
print("l1 at the end", final.item())
