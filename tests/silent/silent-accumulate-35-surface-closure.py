import torch
import torch.nn as nn

torch.manual_seed(94)


class Surface(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, xy):
        return self.net(xy).squeeze(-1)


def measurements(n=120):
    xy = torch.rand(n, 2) * 4 - 2
    return xy, torch.sin(xy[:, 0]) * torch.cos(xy[:, 1])


def fit(surface, xy, z, rounds=8):
    optimizer = torch.optim.LBFGS(surface.parameters(), lr=0.2, max_iter=5, history_size=8)
    calls = 0

    def closure():
        nonlocal calls
        calls += 1
        loss = (surface(xy) - z).pow(2).mean()
        loss.backward()
        return loss

    for i in range(rounds):
        loss = optimizer.step(closure)
        if i % 2 == 0:
            print(i, "loss", round(loss.item(), 5), "evaluations", calls)
    return optimizer


surface = Surface()
xy, z = measurements()
fit(surface, xy, z)
with torch.no_grad():
    print("largest error", (surface(xy) - z).abs().max().item())
