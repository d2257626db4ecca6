import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(21)


class Policy(nn.Module):
    def __init__(self, observations=4, actions=3, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(observations, hidden), nn.Tanh(), nn.Linear(hidden, actions))

    def forward(self, obs):
        return Categorical(logits=self.body(obs))


class Rollout:
    def __init__(self):
        self.clear()

    def clear(self):
        self.obs, self.actions, self.log_probs, self.rewards = [], [], [], []

    def add(self, obs, action, log_prob, reward):
        self.obs.append(obs)
        self.actions.append(action)
        self.log_probs.append(log_prob.detach())
        self.rewards.append(reward)

    def batch(self, gamma=0.98):
        returns, running = [], 0.0
        for reward in reversed(self.rewards):
            running = reward + gamma * running
            returns.insert(0, running)
        returns = torch.tensor(returns)
        advantages = (returns - returns.mean()) / (returns.std() + 1e-6)
        return torch.stack(self.obs), torch.stack(self.actions), torch.stack(self.log_probs), advantages


def env_step(state, action):
    push = (action.item() - 1) * 0.2
    state = 0.9 * state + push + 0.05 * torch.randn(4)
    return state, 1.0 - state.abs().mean().item()


def collect(policy, rollout, length=40):
    state = torch.randn(4)
    with torch.no_grad():
        for _ in range(length):
            dist = policy(state)
            action = dist.sample()
            following, reward = env_step(state, action)
            rollout.add(state, action, dist.log_prob(action), reward)
            state = following


def update(policy, optimizer, rollout, clip=0.2, epochs=3):
    obs, actions, old_log_probs, advantages = rollout.batch()
    for _ in range(epochs):
        dist = policy(obs)
        with torch.no_grad():
            kl = (old_log_probs - dist.log_prob(actions)).mean()
        log_probs = dist.log_prob(actions)
        ratio = (log_probs - old_log_probs).exp()
        surrogate = torch.min(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages)
        loss = -surrogate.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return kl.item()


policy, rollout = Policy(), Rollout()
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
for iteration in range(5):
    rollout.clear()
    collect(policy, rollout)
    kl = update(policy, optimizer, rollout)
    print(f"iteration {iteration} reward {sum(rollout.rewards):.2f} kl {kl:.5f}")
