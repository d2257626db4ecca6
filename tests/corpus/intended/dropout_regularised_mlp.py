import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(42)
net = nn.Sequential(nn.Dropout(0.1), nn.Linear(10, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
x = torch.randn(200, 10)
y = (x[:, 0] + x[:, 1] > 0).long()
for epoch in range(5):
    net.train()
    for rows in torch.randperm(200).split(40):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        accuracy = (net(x).argmax(dim=1) == y).float().mean()
    print(epoch, loss.item(), accuracy.item())
