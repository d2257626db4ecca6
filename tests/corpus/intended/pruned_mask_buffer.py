import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import prune

torch.manual_seed(90)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
for layer in (model[0], model[2]):
    prune.l1_unstructured(layer, "weight", amount=0.4)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(30):
    x = torch.randn(32, 8)
    loss = F.cross_entropy(model(x), (x[:, 0] > x[:, 1]).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
for layer in (model[0], model[2]):
    prune.remove(layer, "weight")
print(loss.item(), (model[0].weight == 0).float().mean().item())
