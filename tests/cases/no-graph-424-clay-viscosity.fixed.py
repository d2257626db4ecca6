import torch
from torch import nn
from torch.optim import Optimizer

torch.manual_seed(424)


class SignBacktrack(Optimizer):
    """Heavy-ball steps whose length shrinks while the loss goes up."""

    def __init__(self, params, lr=0.05, beta=0.8, shrink=0.5):
        super().__init__(params, dict(lr=lr, beta=beta, shrink=shrink))
        self.last = float("inf")

    @torch.no_grad()
    def step(self, closure):
        loss = torch.enable_grad()(closure)()
        for group in self.param_groups:
            if loss.item() > self.last:
                group["lr"] *= group["shrink"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                velocity = self.state[p].setdefault("velocity", torch.zeros_like(p))
                velocity.mul_(group["beta"]).add_(p.grad)
                p.add_(velocity, alpha=-group["lr"])
        self.last = loss.item()
        return loss


class FlowCurve(nn.Module):
    def __init__(self):
        super().__init__()
        self.yield_stress = nn.Parameter(torch.tensor(0.5))
        self.consistency = nn.Parameter(torch.tensor(0.5))
        self.index = nn.Parameter(torch.tensor(1.0))

    def forward(self, rate):
        return self.yield_stress + self.consistency * rate ** self.index


rate = torch.linspace(0.1, 4.0, 50)
stress = 1.2 + 0.9 * rate ** 0.6 + 0.02 * torch.randn(50)
curve = FlowCurve()
optimizer = SignBacktrack(curve.parameters())


def closure():
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(curve(rate), stress)
    loss.backward()
    return loss


for n in range(60):
    loss = optimizer.step(closure)
    if n % 20 == 0:
        print(f"step {n:2d} loss {loss.item():.5f}")
print({name: round(p.item(), 3) for name, p in curve.named_parameters()})
