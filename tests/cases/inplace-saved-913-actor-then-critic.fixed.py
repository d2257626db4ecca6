import torch
from torch import nn
from torch.distributions import Normal


class Shared(nn.Module):
    def __init__(self, obs, act, width=20):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.mu = nn.Linear(width, act)
        self.log_std = nn.Parameter(torch.zeros(act))
        self.v = nn.Linear(width, 1)

    def forward(self, obs):
        h = self.trunk(obs)
        return Normal(self.mu(h), self.log_std.exp()), self.v(h).squeeze(-1)


class Learner:
    def __init__(self, net, lrs):
        self.net = net
        groups = {
            "actor": [*net.trunk.parameters(), *net.mu.parameters(), net.log_std],
            "critic": list(net.v.parameters()),
        }
        self.opts = {name: torch.optim.Adam(params, lr=lrs[name]) for name, params in groups.items()}

    def losses(self, batch):
        dist, value = self.net(batch["obs"])
        advantage = (batch["ret"] - value).detach()
        advantage = (advantage - advantage.mean()) / advantage.std()
        ratio = (dist.log_prob(batch["act"]).sum(-1) - batch["logp"]).exp()
        clipped = ratio.clamp(0.8, 1.2)
        return {
            "actor": -torch.min(ratio * advantage, clipped * advantage).mean(),
            "critic": (value - batch["ret"]).square().mean(),
        }

    def update(self, batch, epochs):
        stats = []
        for _ in range(epochs):
            losses = self.losses(batch)
            for opt in self.opts.values():
                opt.zero_grad()
            for name, loss in losses.items():
                loss.backward(retain_graph=True)
            for opt in self.opts.values():
                opt.step()
            stats.append({name: loss.item() for name, loss in losses.items()})
        return stats


def collect(net, n=32):
    with torch.no_grad():
        obs = torch.randn(n, 4)
        dist, _ = net(obs)
        act = dist.sample()
        logp = dist.log_prob(act).sum(-1)
    return {"obs": obs, "act": act, "logp": logp, "ret": -(act - obs[:, :2]).square().sum(-1)}


torch.manual_seed(1)
net = Shared(4, 2)
learner = Learner(net, {"actor": 3e-4, "critic": 1e-3})
for iteration in range(2):
    print(iteration, learner.update(collect(net), epochs=3)[-1])
