import torch
from torch import nn
from torch.func import jacrev, vmap


class RodModel(nn.Module):
    """Temperature of a rod and the heat flux that follows from it."""

    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))
        self.log_conductivity = nn.Parameter(torch.zeros(()))

    def temperature(self, point):
        return self.net(point).squeeze(-1)

    def flux(self, point):
        point = point.requires_grad_()
        slope = torch.autograd.grad(self.temperature(point).sum(), point, create_graph=True)[0]
        return -self.log_conductivity.exp() * slope[..., 0]


def balance(model, points):
    d_temperature = vmap(jacrev(model.temperature))(points)
    d_flux = vmap(jacrev(model.flux))(points)
    return d_temperature[:, 1] + d_flux[:, 0]


def interior(count):
    return torch.rand(count, 2)


def sensors(count, conductivity=0.3):
    points = torch.rand(count, 2)
    x, t = points.unbind(1)
    decay = torch.exp(-conductivity * 9.87 * t)
    return points, decay * torch.sin(3.1416 * x)


def fit(model, steps=15, lr=3e-3):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for step in range(steps):
        points, measured = sensors(48)
        data = (model.temperature(points) - measured).pow(2).mean()
        physics = balance(model, interior(48)).pow(2).mean()
        optimizer.zero_grad()
        (data + 0.1 * physics).backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"{step:2d} data {data.item():.4f} physics {physics.item():.4f}")
    print("conductivity", model.log_conductivity.exp().item())


if __name__ == "__main__":
    torch.manual_seed(18)
    fit(RodModel())
