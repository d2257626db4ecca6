import torch
import torch.nn as nn


def mlp(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, 24), nn.LeakyReLU(), nn.Linear(24, n_out))


class Novelty(nn.Module):
    """A predictor learns the outputs of a random network; where it is still wrong the state is new."""

    def __init__(self, n_obs, n_code=8):
        super().__init__()
        self.target = mlp(n_obs, n_code)
        self.predictor = mlp(n_obs, n_code)
        self.register_buffer("scale", torch.ones(()))

    def forward(self, obs):
        with torch.no_grad():
            code = self.target(obs)
        error = (self.predictor(obs) - code).pow(2).mean(dim=1)
        return error

    @torch.no_grad()
    def bonus(self, obs):
        value = self(obs)
        self.scale.lerp_(value.std() + 1e-6, 0.05)
        return value / self.scale


class Policy(nn.Module):
    def __init__(self, n_obs, n_act):
        super().__init__()
        self.net = mlp(n_obs, n_act)

    def forward(self, obs):
        return torch.distributions.Categorical(logits=self.net(obs))


torch.manual_seed(1)
novelty, policy = Novelty(4), Policy(4, 3)
params = list(policy.parameters()) + list(novelty.predictor.parameters())
optimizer = torch.optim.Adam(params, lr=2e-3)
moves = torch.randn(3, 4) * 0.3
obs = torch.zeros(16, 4)
for update in range(20):
    dist = policy(obs)
    action = dist.sample()
    following = (obs + moves[action] + 0.05 * torch.randn(16, 4)).clamp(-3, 3)
    reward = novelty.bonus(following)
    advantage = reward - reward.mean()
    loss = -(dist.log_prob(action) * advantage).mean() - 0.01 * dist.entropy().mean()
    keep = torch.rand(16) < 0.5
    if keep.any():
        loss = loss + novelty(following)[keep].mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    obs = following
    if update % 5 == 0:
        print(update, reward.mean().item())
