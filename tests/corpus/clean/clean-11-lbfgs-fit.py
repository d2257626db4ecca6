import torch
from torch import nn

torch.manual_seed(6)


class Oscillator(nn.Module):
    def __init__(self):
        super().__init__()
        self.frequency = nn.Parameter(torch.tensor(1.8))
        self.damping = nn.Parameter(torch.tensor(0.3))
        self.height = nn.Parameter(torch.tensor(0.8))

    def forward(self, t):
        return self.height * torch.exp(-self.damping * t) * torch.cos(self.frequency * t)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 1))

    def forward(self, t):
        t = t.clone().requires_grad_(True)
        y = self.net(t[:, None]).squeeze(1)
        dy, = torch.autograd.grad(y.sum(), t, create_graph=True)
        return dy + 0.5 * y, self.net(torch.zeros(1, 1)).squeeze() - 1


t = torch.linspace(0, 6, 80)
seen = torch.exp(-0.2 * t) * torch.cos(2 * t) + 0.02 * torch.randn(80)


def fit(parameters, objective, rounds):
    optimizer = torch.optim.LBFGS(parameters, lr=0.5, max_iter=10, line_search_fn="strong_wolfe")
    trail = []

    def closure():
        optimizer.zero_grad()
        loss = objective()
        loss.backward()
        trail.append(loss.item())
        return loss

    for _ in range(rounds):
        optimizer.step(closure)
    return trail


model = Oscillator()
trail = fit(model.parameters(), lambda: (model(t) - seen).pow(2).mean(), 4)
print("oscillator", len(trail), round(trail[0], 5), round(trail[-1], 5))
print({n: round(p.item(), 3) for n, p in model.named_parameters()})

decay = Residual()


def physics():
    inside, start = decay(t)
    return inside.pow(2).mean() + start.pow(2)


trail = fit(decay.parameters(), physics, 6)
with torch.no_grad():
    error = (decay.net(t[:, None]).squeeze(1) - torch.exp(-0.5 * t)).abs().max().item()
print("decay", round(trail[-1], 6), "worst", round(error, 4))
