import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

np.random.seed(3)
torch.manual_seed(3)


class Bandit:
    """Two-armed bandit whose good arm is shown in the observation."""

    def observe(self):
        self.good = np.random.randint(2)
        x = np.random.normal(size=3).astype(np.float32)
        x[0] += 2 * self.good - 1
        return x

    def pull(self, arm):
        return float(np.random.rand() < (0.9 if arm == self.good else 0.2))


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 16), nn.Tanh())
        self.actor, self.critic = nn.Linear(16, 2), nn.Linear(16, 1)

    def forward(self, x):
        h = self.body(x)
        return Categorical(logits=self.actor(h)), self.critic(h).squeeze(-1)


def collect(model, env, n):
    rows = []
    with torch.no_grad():
        for _ in range(n):
            x = env.observe()
            policy, value = model(torch.from_numpy(x))
            arm = policy.sample()
            rows.append((x, arm.item(), env.pull(arm.item()), policy.log_prob(arm).item(), value.item()))
    x, arm, reward, logp, value = map(np.array, zip(*rows))
    return (torch.as_tensor(x), torch.as_tensor(arm), torch.FloatTensor(reward), torch.FloatTensor(logp), torch.FloatTensor(value))


def improve(model, optimizer, batch, clip=0.2):
    x, arm, reward, old, value = batch
    advantage = reward - value
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
    for _ in range(4):
        policy, estimate = model(x)
        ratio = (policy.log_prob(arm) - old).exp()
        surrogate = torch.min(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()
        loss = -surrogate + 0.5 * (estimate - reward).pow(2).mean() - 0.01 * policy.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
    kl = (old - policy.log_prob(arm).detach()).mean().item()
    return loss.item(), kl


model, env = ActorCritic(), Bandit()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for it in range(15):
    batch = collect(model, env, 64)
    loss, kl = improve(model, optimizer, batch)
    if it % 5 == 4:
        print(it, round(batch[2].mean().item(), 3), round(loss, 4), round(kl, 4))
