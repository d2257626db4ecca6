import torch
import torch.nn as nn


class SumNet(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.item = nn.Sequential(nn.Linear(4, dim), nn.ReLU())
        self.total = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    def forward(self, sets):
        return self.total(self.item(sets).sum(dim=1)).squeeze(-1)


def sets(n=64, size=5):
    x = torch.rand(n, size, 4)
    return x, x.max(dim=1).values.sum(dim=1)


def train(net, steps=40):
    criterion = nn.L1Loss()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    history = []
    for step in range(steps):
        x, y = sets()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
        history.append(loss.item())
        if step % 10 == 9:
            print(f"step {step + 1} loss {sum(history[-10:]) / 10:.4f}")
    return history


torch.manual_seed(91)
net = SumNet()
history = train(net)
