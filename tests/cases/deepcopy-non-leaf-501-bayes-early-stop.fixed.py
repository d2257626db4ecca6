import copy
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(44)


class BayesLinear(nn.Module):
    def __init__(self, n_in, n_out, prior=0.5):
        super().__init__()
        self.mean = nn.Parameter(torch.randn(n_out, n_in) / n_in ** 0.5)
        self.rho = nn.Parameter(torch.full((n_out, n_in), -3.0))
        self.bias = nn.Parameter(torch.zeros(n_out))
        self.prior, self.kl = prior, 0.0

    def forward(self, x):
        std = F.softplus(self.rho)
        posterior = torch.distributions.Normal(self.mean, std)
        prior = torch.distributions.Normal(0.0, self.prior)
        self.kl = torch.distributions.kl_divergence(posterior, prior).sum()
        return F.linear(x, posterior.rsample(), self.bias)


class Ageing(nn.Sequential):
    def __init__(self):
        super().__init__(BayesLinear(3, 16), nn.ReLU(), BayesLinear(16, 1))

    def penalty(self):
        return sum(layer.kl for layer in self if isinstance(layer, BayesLinear))


class EarlyStop:
    def __init__(self, patience):
        self.patience, self.best, self.kept, self.waited = patience, float("inf"), None, 0

    def __call__(self, value, net):
        if value < self.best:
            self.best, self.waited = value, 0
            self.kept = copy.deepcopy(net.state_dict())
        else:
            self.waited += 1
        return self.waited >= self.patience


def cells(n):
    x = torch.randn(n, 3)
    return x, (x[:, :1] * x[:, 1:2] + 0.5 * x[:, 2:]).tanh()


net, stop = Ageing(), EarlyStop(patience=5)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
x, y = cells(128)
for epoch in range(40):
    loss = F.mse_loss(net(x), y) + 1e-4 * net.penalty()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if stop(loss.item(), net):
        break
print(f"stopped after epoch {epoch}, best loss {stop.best:.3f}")
