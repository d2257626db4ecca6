import torch
from torch import nn

torch.manual_seed(14)


def mlp(sizes):
    layers = []
    for a, b in zip(sizes[:-2], sizes[1:-1]):
        layers += [nn.Linear(a, b), nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


def partial(outputs, inputs):
    return torch.autograd.grad(outputs, inputs, torch.ones_like(outputs), create_graph=True)[0]


class Burgers:
    def __init__(self, guess=0.2):
        self.log_nu = nn.Parameter(torch.tensor(guess).log())

    @property
    def viscosity(self):
        return self.log_nu.exp()

    def terms(self, field, points):
        points = points.clone().requires_grad_(True)
        u = field(points)
        first = partial(u, points)
        second = partial(first[:, :1], points)
        return u, first[:, 1:], first[:, :1], second[:, :1]

    def residual(self, u, u_t, u_x, u_xx):
        return u_t + u * u_x - self.viscosity * u_xx


def fit_field(field, equation, points, values, steps=30):
    optimizer = torch.optim.Adam(field.parameters(), lr=5e-3)
    inner = torch.rand(80, 2)
    for step in range(steps):
        data = (field(points) - values).square().mean()
        physics = equation.residual(*equation.terms(field, inner)).square().mean()
        loss = data + 0.01 * physics
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"field: data {data.item():.4f} physics {physics.item():.4f} nu {equation.viscosity:.4f}")


def fit_coefficient(field, equation, steps=20):
    field.requires_grad_(False)
    optimizer = torch.optim.Adam([equation.log_nu], lr=5e-2)
    inner = torch.rand(200, 2)
    terms = [term.detach() for term in equation.terms(field, inner)]
    with torch.no_grad():
        trust = torch.softmax(-terms[-1].abs().flatten(), 0).view(-1, 1)
    for step in range(steps):
        loss = (trust * equation.residual(*terms).square()).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"coefficient: loss {loss.item():.5f} nu {equation.viscosity:.4f}")


def main():
    points = torch.rand(120, 2)
    values = torch.sin(3 * points[:, :1]) * torch.exp(-points[:, 1:])
    field, equation = mlp([2, 24, 24, 1]), Burgers()
    fit_field(field, equation, points, values)
    fit_coefficient(field, equation)


if __name__ == "__main__":
    main()
