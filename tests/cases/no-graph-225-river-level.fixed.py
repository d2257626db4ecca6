import torch
from torch import nn

torch.manual_seed(16)


class Meter:
    def __init__(self):
        self.mean, self.count = 0.0, 0

    def add(self, value):
        self.count += 1
        self.mean += (value.item() - self.mean) / self.count
        return torch.tensor(self.mean)


def river(days=400):
    rain = torch.rand(days).pow(4) * 10
    level = torch.zeros(days)
    for d in range(1, days):
        level[d] = 0.85 * level[d - 1] + 0.3 * rain[d]
    return rain, level


def make_windows(rain, level, back=10):
    x = torch.stack([torch.cat([rain[i:i + back], level[i:i + back]]) for i in range(len(rain) - back)])
    return x, level[back:]


x, y = make_windows(*river())
net = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 1), nn.Flatten(0))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
split = 300

for epoch in range(4):
    meter, worst = Meter(), 0.0
    for idx in torch.randperm(split).split(30):
        error = net(x[idx]) - y[idx]
        worst = max(worst, error.abs().max().item())
        loss = error.pow(2).mean()
        meter.add(loss)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        held = (net(x[split:]) - y[split:]).pow(2).mean().item()
    print(f"epoch {epoch}: mean {meter.mean:.4f} worst {worst:.2f} held out {held:.4f}")
