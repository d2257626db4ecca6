import torch
from torch import nn
from torch.func import functional_call
import torch.nn.functional as F

torch.manual_seed(21)


class MixedCell(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.ops = nn.ModuleList([nn.Linear(width, width), nn.Sequential(nn.Linear(width, width), nn.Tanh()),
                                  nn.Sequential(nn.Linear(width, width), nn.ReLU())])

    def forward(self, x, mix):
        return x + sum(m * op(x) for m, op in zip(mix, self.ops))


class SuperNet(nn.Module):
    def __init__(self, cells=2, width=16):
        super().__init__()
        self.stem = nn.Linear(4, width)
        self.cells = nn.ModuleList([MixedCell(width) for _ in range(cells)])
        self.head = nn.Linear(width, 1)

    def forward(self, x, choices):
        x = self.stem(x)
        for cell, mix in zip(self.cells, choices.softmax(-1)):
            x = cell(x, mix)
        return self.head(x).squeeze(-1)


class Architect:
    def __init__(self, net, eta=0.05):
        self.net, self.eta = net, eta
        self.choices = (1e-3 * torch.randn(2, 3)).requires_grad_(True)
        self.optimizer = torch.optim.Adam([self.choices], lr=0.02)

    def look_ahead(self, x, y):
        weights = dict(self.net.named_parameters())
        loss = F.mse_loss(self.net(x, self.choices), y)
        slopes = torch.autograd.grad(loss, list(weights.values()))
        return {name: w.data - self.eta * g for (name, w), g in zip(weights.items(), slopes)}

    def step(self, train, valid):
        ahead = self.look_ahead(*train)
        loss = F.mse_loss(functional_call(self.net, ahead, (valid[0], self.choices)), valid[1])
        wanted = [self.choices] + list(ahead.values())
        slope, *weight_slopes = torch.autograd.grad(loss, wanted)
        self.choices.grad = slope
        self.optimizer.step()
        return sum(g.pow(2).sum() for g in weight_slopes).sqrt().item()


def draw(count=48):
    x = torch.randn(count, 4)
    return x, torch.tanh(x[:, 0] * x[:, 1]) + 0.3 * x[:, 2]


net = SuperNet()
architect = Architect(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for epoch in range(15):
    slope_norm = architect.step(draw(), draw())
    x, y = draw()
    loss = F.mse_loss(net(x, architect.choices.detach()), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}  slope {slope_norm:.3f}", architect.choices.softmax(-1).tolist())
