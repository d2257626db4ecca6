import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(109)
net = nn.Sequential(nn.LazyConv2d(6, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(3))
with torch.no_grad():
    net(torch.zeros(1, 1, 8, 8))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(25):
    y = torch.randint(0, 3, (16,))
    x = torch.randn(16, 1, 8, 8) * 0.3 + y.view(-1, 1, 1, 1)
    loss = F.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
