import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(41)
net = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 1))
with torch.no_grad():
    net[0].bias[:6] = -20.0
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(40):
    x = torch.randn(32, 3)
    loss = F.mse_loss(net(x), x.abs().sum(dim=1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    active = (net[:2](torch.randn(500, 3)) > 0).any(dim=0)
print(loss.item(), "active units", active.sum().item())
