import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        return self.head(self.features(x))


def run(net, optimizer, steps):
    for _ in range(steps):
        x = torch.randn(32, 8)
        loss = F.cross_entropy(net(x), x[:, :4].argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(52)
net = Net()
net.features.requires_grad_(False)
print("head", run(net, torch.optim.Adam(net.head.parameters(), lr=1e-2), 20))
net.features.requires_grad_(True)
print("all", run(net, torch.optim.Adam(net.parameters(), lr=1e-3), 20))
