import math
from dataclasses import asdict, dataclass

import torch
from torch import nn
from torch.distributions import Normal, kl_divergence
from torch.utils.data import DataLoader, TensorDataset


@dataclass(frozen=True)
class Config:
    pixels: int = 64
    code: int = 4
    hidden: int = 32
    beta: float = 2.0
    epochs: int = 2
    batch: int = 16
    warmup: int = 6


class VAE(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(config.pixels, config.hidden), nn.SiLU())
        self.mean = nn.Linear(config.hidden, config.code)
        self.log_std = nn.Linear(config.hidden, config.code)
        self.decode = nn.Sequential(nn.Linear(config.code, config.hidden), nn.SiLU(), nn.Linear(config.hidden, config.pixels))

    def posterior(self, x):
        hidden = self.encode(x)
        return Normal(self.mean(hidden), self.log_std(hidden).clamp(-6, 2).exp())

    def forward(self, x):
        posterior = self.posterior(x)
        code = posterior.rsample() if self.training else posterior.mean
        return self.decode(code), posterior

    @torch.no_grad()
    def sample(self, count):
        code = torch.randn(count, self.mean.out_features)
        return torch.bernoulli(self.decode(code).sigmoid())


class Meter:
    def __init__(self):
        self.sums, self.count = {}, 0

    def add(self, count, **values):
        self.count += count
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + value.item() * count

    def __str__(self):
        return " ".join(f"{name}={total / self.count:.3f}" for name, total in self.sums.items())


def elbo(model, x, weight):
    logits, posterior = model(x)
    prior = Normal(torch.zeros_like(posterior.mean), torch.ones_like(posterior.stddev))
    likelihood = nn.functional.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1).mean()
    divergence = kl_divergence(posterior, prior).sum(dim=1).mean()
    return likelihood + weight * divergence, likelihood, divergence


def run(config):
    data = (torch.rand(96, config.pixels) > 0.6).float()
    loader = DataLoader(TensorDataset(data), batch_size=config.batch, shuffle=True)
    model = VAE(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    step = 0
    for epoch in range(config.epochs):
        model.train()
        meter = Meter()
        for (x,) in loader:
            weight = config.beta * min(1.0, step / config.warmup)
            loss, likelihood, divergence = elbo(model, x, weight)
            optimizer.zero_grad()
            loss.backward()
            if not math.isfinite(loss.item()):
                raise RuntimeError(f"the loss is {loss.item()} in step {step}")
            nn.utils.clip_grad_value_(model.parameters(), 5.0)
            optimizer.step()
            meter.add(len(x), loss=loss.detach(), likelihood=likelihood.detach(), divergence=divergence.detach())
            step += 1
        model.eval()
        print(epoch, meter, model.sample(3).mean().item())


if __name__ == "__main__":
    torch.manual_seed(1)
    print(asdict(Config()))
    run(Config())
