import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(20)
trunk = nn.Sequential(nn.Linear(9, 24), nn.Tanh())
trunk.requires_grad_(False)
adapter = nn.Sequential(nn.Linear(24, 24), nn.ReLU())
head = nn.Linear(24, 2)
optimizer = torch.optim.Adam([*adapter.parameters(), *head.parameters()], lr=5e-3)
for step in range(30):
    x = torch.randn(32, 9)
    h = trunk(x)
    h.requires_grad_(True)
    logits = head(checkpoint(adapter, h, use_reentrant=True))
    loss = F.cross_entropy(logits, (x[:, 0] > x[:, 1]).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
