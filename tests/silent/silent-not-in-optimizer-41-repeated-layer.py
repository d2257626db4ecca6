import torch
import torch.nn as nn

torch.manual_seed(27)


class Mixer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return x + torch.relu(self.fc(self.norm(x)))


class PriceNet(nn.Module):
    def __init__(self, columns=7, dim=24, depth=4):
        super().__init__()
        self.depth = depth
        self.inp = nn.Linear(columns, dim)
        self.layers = nn.ModuleList([Mixer(dim)] * depth)
        self.out = nn.Linear(dim, 1)

    def forward(self, x):
        x = self.inp(x)
        for layer in self.layers:
            x = layer(x)
        return self.out(x).squeeze(-1)


def houses(n=64):
    x = torch.randn(n, 7)
    return x, x[:, 0] * x[:, 1] + x[:, 2].abs() - 0.5 * x[:, 3]


net = PriceNet()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(60):
    x, price = houses()
    loss = (net(x) - price).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
print("layers", len(net.layers), "weights", sum(p.numel() for p in net.parameters()))
