import torch
from torch import nn


class Smooth:
    """Exponential average with bias correction."""

    def __init__(self, beta=0.9):
        self.beta, self.value, self.t = beta, 0.0, 0

    def __call__(self, x):
        self.t += 1
        self.value = self.beta * self.value + (1 - self.beta) * x.detach()
        return self.value / (1 - self.beta**self.t)


class BalancedObjective(nn.Module):
    """Weights each term by the inverse of its smoothed size."""

    def __init__(self, names):
        super().__init__()
        self.average = {name: Smooth() for name in names}

    def forward(self, terms):
        total = 0.0
        for name, term in terms.items():
            scale = self.average[name](term)
            total = total + term / (scale + 1e-8)
        return total


class AutoEncoder(nn.Module):
    def __init__(self, dim=12, code=3):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, code))
        self.dec = nn.Sequential(nn.Linear(code, 16), nn.ReLU(), nn.Linear(16, dim))

    def forward(self, x):
        code = self.enc(x)
        return code, self.dec(code)


def terms_of(x, code, back):
    yield "reconstruction", (back - x).pow(2).mean()
    yield "sparsity", code.abs().mean()
    centred = code - code.mean(0)
    cov = centred.T @ centred / len(code)
    yield "decorrelation", (cov - torch.diag(cov.diagonal())).pow(2).sum()


def main():
    torch.manual_seed(9)
    model = AutoEncoder()
    objective = BalancedObjective(["reconstruction", "sparsity", "decorrelation"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=5)
    basis = torch.randn(3, 12)
    for _ in range(5):
        x = torch.randn(32, 3) @ basis
        loss = objective(dict(terms_of(x, *model(x))))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    print({name: round(float(avg.value), 4) for name, avg in objective.average.items()})


main()
