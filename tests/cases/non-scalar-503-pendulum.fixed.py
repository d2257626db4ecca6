import torch
from torch import nn

torch.manual_seed(33)
torch.set_default_dtype(torch.float64)

DAMPING, STIFFNESS = 0.4, 4.0


class Motion(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(1, hidden), nn.Linear(hidden, hidden)])
        self.out = nn.Linear(hidden, 1)

    def forward(self, t):
        for layer in self.layers:
            t = torch.tanh(layer(t))
        return self.out(t)


def time_derivative(quantity, t):
    (slope,) = torch.autograd.grad(quantity.sum(), t, create_graph=True)
    return slope


def losses(model, n_points=40):
    start = torch.zeros(1, 1, requires_grad=True)
    angle0 = model(start)
    at_rest = (angle0 - 1.0).pow(2).sum() + time_derivative(angle0, start).pow(2).sum()

    t = (2.0 * torch.rand(n_points, 1)).requires_grad_()
    angle = model(t)
    speed = time_derivative(angle, t)
    acceleration = time_derivative(speed, t)
    residual = acceleration + DAMPING * speed + STIFFNESS * angle
    return at_rest, residual.pow(2).mean()


def main():
    model = Motion()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for it in range(60):
        at_rest, physics = losses(model)
        loss = at_rest + 0.05 * physics
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 20 == 0:
            print(f"{it:3d}  start {at_rest.item():.4f}  equation {physics.item():.4f}")
    with torch.no_grad():
        print("angle at t=1:", model(torch.ones(1, 1)).item())


if __name__ == "__main__":
    main()
