import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(72)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)


def attack(x, y, eps=0.1):
    x = x.clone().requires_grad_(True)
    F.cross_entropy(model(x), y).backward()
    return (x + eps * x.grad.sign()).detach()


for step in range(30):
    x = torch.randn(32, 8)
    y = (x[:, 0] > 0).long()
    hard = attack(x, y)
    optimizer.zero_grad()
    loss = 0.5 * (F.cross_entropy(model(x), y) + F.cross_entropy(model(hard), y))
    loss.backward()
    optimizer.step()
print(loss.item())
