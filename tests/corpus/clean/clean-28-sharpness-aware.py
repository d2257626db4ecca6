import torch
from torch import nn


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **options):
        super().__init__(params, dict(rho=rho, **options))
        self.base = base(self.param_groups, **options)
        self.param_groups = self.base.param_groups

    @torch.no_grad()
    def climb(self):
        grads = [p.grad.norm() for group in self.param_groups for p in group["params"] if p.grad is not None]
        norm = torch.stack(grads).norm() + 1e-12
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["start"] = p.detach().clone()
                p.add_(p.grad, alpha=float(group["rho"] / norm))
        self.zero_grad()

    @torch.no_grad()
    def descend(self):
        for group in self.param_groups:
            for p in group["params"]:
                if "start" in self.state[p]:
                    p.copy_(self.state[p].pop("start"))
        self.base.step()
        self.zero_grad()

    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self.climb()
        if closure is not None:
            with torch.enable_grad():
                closure()
        self.descend()
        return loss


def manual_sgd(model, x, y, lr=0.1, steps=3):
    """The same without an optimizer, for comparison."""
    for _ in range(steps):
        loss = nn.functional.cross_entropy(model(x), y)
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= lr * p.grad
    return loss.item()


def make():
    return nn.Sequential(nn.Linear(8, 16), nn.Mish(), nn.Linear(16, 3))


def main():
    torch.manual_seed(18)
    x, y = torch.randn(48, 8), torch.randint(0, 3, (48,))
    model = make()
    optimizer = SAM(model.parameters(), torch.optim.SGD, rho=0.1, lr=0.05, momentum=0.9)
    for epoch in range(4):
        for part in torch.randperm(48).split(16):

            def closure():
                loss = nn.functional.cross_entropy(model(x[part]), y[part])
                loss.backward()
                return loss

            loss = optimizer.step(closure)
        print(epoch, loss.item())
    print(manual_sgd(make(), x, y))


main()
