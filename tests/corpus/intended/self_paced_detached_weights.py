import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(87)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(40):
    x = torch.randn(48, 6)
    y = (x[:, 0] > 0).long()
    flip = torch.rand(48) < 0.1
    y = torch.where(flip, 1 - y, y)
    per_sample = F.cross_entropy(net(x), y, reduction="none")
    weight = torch.exp(-per_sample.detach())
    loss = (weight * per_sample).sum() / weight.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
