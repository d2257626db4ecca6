import torch
from torch import nn
import torch.nn.functional as F


class FlatMinima(torch.optim.Optimizer):
    def __init__(self, params, lr=0.05, rho=0.05):
        super().__init__(params, dict(lr=lr, rho=rho))

    def norm(self):
        grads = [p.grad.norm() for g in self.param_groups for p in g["params"]]
        return torch.stack(grads).norm()

    @torch.no_grad()
    def step(self, closure):
        loss = closure()
        size = self.norm()
        for group in self.param_groups:
            for p in group["params"]:
                shift = group["rho"] * p.grad / (size + 1e-12)
                p.add_(shift)
                self.state[p]["shift"] = shift
        closure()
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(self.state[p]["shift"])
                p.add_(p.grad, alpha=-group["lr"])
        return loss


def make_closure(model, optimizer, x, y):
    def closure():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        return loss
    return closure


def moons(n):
    y = torch.randint(0, 2, (n,))
    a = torch.rand(n) * 3.14
    x = torch.stack([a.cos() + y, a.sin() * (1 - 2 * y) + 0.4 * y], dim=1)
    return x + 0.1 * torch.randn(n, 2), y


def main():
    torch.manual_seed(62)
    model = nn.Sequential(nn.Linear(2, 20), nn.ReLU(), nn.Linear(20, 2))
    optimizer = FlatMinima(model.parameters())
    for n in range(60):
        loss = optimizer.step(make_closure(model, optimizer, *moons(64)))
        if n % 15 == 0:
            print(n, round(loss.item(), 4))


main()
