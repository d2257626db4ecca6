import torch
import torch.nn as nn

torch.manual_seed(100)


class BatteryNet(nn.Module):
    def __init__(self, features=6, hidden=32):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.layers(x)


def root_mean_square(output, target):
    return torch.sqrt(((output - target) ** 2).mean() + 1e-8)


def cells(n=64):
    x = torch.randn(n, 6)
    return x, 3 * x[:, 0] - 2 * x[:, 1] + x[:, 2] * x[:, 3]


def train(net, steps=100):
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(steps):
        x, life = cells()
        output = net(x)
        loss = root_mean_square(output, life)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print(step, round(loss.item(), 4))
    return output, life


net = BatteryNet()
output, life = train(net)
print("spread of output", round(output.std().item(), 4), "of target", round(life.std().item(), 4))
