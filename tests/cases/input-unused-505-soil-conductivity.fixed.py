import torch
from torch import nn

torch.manual_seed(17)


class HeadNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(1, 24), nn.Linear(24, 24), nn.Linear(24, 1)])

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.tanh(layer(x))
        return self.layers[-1](x)


class Soil(nn.Module):
    def __init__(self, zones=4):
        super().__init__()
        self.log_k = nn.Parameter(torch.zeros(zones))
        self.zones = zones

    def forward(self, x):
        zone = (x.detach().squeeze(1) * self.zones).long().clamp(max=self.zones - 1)
        return self.log_k[zone].exp().unsqueeze(1)


def derivative(y, x, **kw):
    return torch.autograd.grad(y.sum(), x, **kw)[0]


def source_term(x):
    return 2.0 * torch.sin(3.14 * x)


def flow_residual(head, soil, x):
    x = x.requires_grad_(True)
    h = head(x)
    gradient = derivative(h, x, create_graph=True)
    flux = -soil(x) * gradient
    return derivative(flux, x, create_graph=True) - source_term(x)


def fit(wells, levels, steps=120):
    head, soil = HeadNet(), Soil()
    optimizer = torch.optim.Adam([{"params": head.parameters()}, {"params": soil.parameters(), "lr": 0.02}], lr=3e-3)
    for step in range(steps):
        physics = flow_residual(head, soil, torch.rand(64, 1)).pow(2).mean()
        data = (head(wells) - levels).pow(2).mean()
        loss = data + 0.05 * physics
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print(f"{step:3d}  data {data.item():.4f}  physics {physics.item():.4f}")
    return soil.log_k.detach().exp()


if __name__ == "__main__":
    wells = torch.rand(20, 1)
    levels = 1.0 - 0.6 * wells ** 2 + 0.01 * torch.randn(20, 1)
    print("conductivity", fit(wells, levels).tolist())
