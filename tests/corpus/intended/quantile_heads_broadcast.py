import torch
import torch.nn as nn

torch.manual_seed(56)
levels = torch.tensor([0.1, 0.5, 0.9])
net = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 3))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(50):
    x = torch.randn(64, 2)
    y = (x[:, 0] + x[:, 1].abs() * torch.randn(64)).unsqueeze(1)
    error = y - net(x)
    loss = torch.max(levels * error, (levels - 1) * error).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
