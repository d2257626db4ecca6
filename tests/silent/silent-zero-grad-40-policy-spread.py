import torch
import torch.nn as nn
from torch.distributions import Normal

torch.manual_seed(79)


class GaussianPolicy(nn.Module):
    def __init__(self, state=3, action=2, low=-2.0, high=1.0, start=-3.0):
        super().__init__()
        self.mean = nn.Sequential(nn.Linear(state, 24), nn.Tanh(), nn.Linear(24, action))
        self.log_std = nn.Parameter(torch.full((action,), start))
        self.low, self.high = low, high

    def forward(self, state):
        std = torch.clamp(self.log_std, self.low, self.high).exp()
        return Normal(self.mean(state), std)


def reward(state, action):
    return -(action - torch.sin(state[:, :2])).pow(2).sum(dim=1)


def update(policy, optimizer, entropy_weight=0.05):
    state = torch.randn(64, 3)
    dist = policy(state)
    action = dist.sample()
    r = reward(state, action)
    advantage = (r - r.mean()) / (r.std() + 1e-8)
    loss = -(dist.log_prob(action).sum(dim=1) * advantage).mean() - entropy_weight * dist.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return r.mean().item()


policy = GaussianPolicy()
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
for iteration in range(60):
    score = update(policy, optimizer)
    if iteration % 20 == 0:
        print(iteration, round(score, 3), policy.log_std.tolist())
