import torch
import torch.nn as nn
from torch.autograd import grad


class Field(nn.Module):
    def __init__(self, widths=(2, 32, 32, 1)):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths[:-1], widths[1:]))
        self.slope = nn.Parameter(torch.ones(len(self.layers) - 1))

    def forward(self, x, t):
        h = torch.cat([x, t], dim=1)
        for i, layer in enumerate(self.layers[:-1]):
            h = torch.tanh(self.slope[i] * layer(h))
        return self.layers[-1](h)


def d(u, x, order=1):
    for _ in range(order):
        (u,) = grad(u, x, torch.ones_like(u), create_graph=True)
    return u


class Heat:
    def __init__(self, field):
        self.field = field
        self.log_alpha = nn.Parameter(torch.tensor(-2.0))

    def parameters(self):
        yield from self.field.parameters()
        yield self.log_alpha

    def residual(self, count):
        x = torch.rand(count, 1, requires_grad=True)
        t = torch.rand(count, 1, requires_grad=True)
        u = self.field(x, t)
        return d(u, t) - self.log_alpha.exp() * d(u, x, order=2)

    def boundary(self, count):
        t = torch.rand(count, 1)
        edge = torch.randint(0, 2, (count, 1)).float()
        return self.field(edge, t)

    def start(self, count):
        x = torch.rand(count, 1)
        return self.field(x, torch.zeros_like(x)) - torch.sin(torch.pi * x)

    def losses(self, count=64):
        return {
            "residual": self.residual(count).square().mean(),
            "boundary": self.boundary(count).square().mean(),
            "start": self.start(count).square().mean(),
        }


def train_adam(problem, steps):
    optimizer = torch.optim.Adam(problem.parameters(), lr=2e-3)
    for step in range(steps):
        losses = problem.losses()
        loss = losses["residual"] + 10 * losses["boundary"] + 10 * losses["start"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(step, {name: f"{value.item():.4f}" for name, value in losses.items()})


def train_lbfgs(problem, steps):
    optimizer = torch.optim.LBFGS(problem.parameters(), max_iter=4, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = sum(problem.losses().values())
        loss.backward()
        return loss

    for _ in range(steps):
        print("lbfgs", optimizer.step(closure).item())


if __name__ == "__main__":
    torch.manual_seed(6)
    heat = Heat(Field())
    train_adam(heat, 10)
    train_lbfgs(heat, 2)
    with torch.no_grad():
        print(heat.field(torch.tensor([[0.5]]), torch.tensor([[0.1]])).item(), heat.log_alpha.exp().item())
