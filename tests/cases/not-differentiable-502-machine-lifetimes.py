import torch
from torch import nn
from torch.distributions import Gamma

torch.manual_seed(142)
torch.set_default_dtype(torch.float64)


class LifetimeNet(nn.Module):
    """Age at failure given load and temperature, as a Gamma distribution."""

    def __init__(self, hidden=12):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, hidden), nn.Tanh())
        self.shape = nn.Linear(hidden, 1)
        self.rate = nn.Linear(hidden, 1)

    def forward(self, condition):
        h = self.body(condition)
        positive = nn.functional.softplus
        return Gamma(positive(self.shape(h)) + 0.5, positive(self.rate(h)) + 0.1)


def log_survival(lifetime, age):
    failed = lifetime.cdf(age)
    return torch.log((1 - failed).clamp(min=1e-6))


def censored_likelihood(lifetime, age, running):
    observed = lifetime.log_prob(age)
    return torch.where(running, log_survival(lifetime, age), observed).mean()


def machines(n, inspection=2.5):
    condition = torch.rand(n, 2)
    true_rate = 0.6 + 1.5 * condition[:, :1]
    age = Gamma(torch.full((n, 1), 2.5), true_rate).sample()
    running = age > inspection
    return condition, age.clamp(max=inspection), running


def main(steps=40):
    model = LifetimeNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    condition, age, running = machines(200)
    print(f"{running.sum().item()} of {len(age)} machines still run")
    for step in range(steps):
        loss = -censored_likelihood(model(condition), age, running)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step:2d}  loss {loss.item():.4f}")
    with torch.no_grad():
        calm, hard = model(torch.tensor([[0.1, 0.5], [0.9, 0.5]])).mean.flatten().tolist()
    print(f"expected life {calm:.2f} under light load, {hard:.2f} under heavy load")


main()
