import random
from typing import NamedTuple

import torch
import torch.nn as nn
from torch.distributions import Independent, Normal


class Step(NamedTuple):
    state: torch.Tensor
    action: torch.Tensor
    log_prob: torch.Tensor
    value: torch.Tensor
    reward: torch.Tensor


class Point:
    """Push a point to the origin."""

    def reset(self):
        self.at = torch.randn(2)
        return self.at.clone()

    def step(self, push):
        self.at = self.at + 0.2 * push.clamp(-1, 1)
        return self.at.clone(), -self.at.norm()


class Agent(nn.Module):
    def __init__(self, states=2, actions=2, width=32):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(states, width), nn.Tanh(), nn.Linear(width, actions))
        self.critic = nn.Sequential(nn.Linear(states, width), nn.Tanh(), nn.Linear(width, 1))
        self.log_std = nn.Parameter(torch.full((actions,), -0.5))
        self.apply(self.init)
        with torch.no_grad():
            self.actor[-1].weight.mul_(0.01)

    @staticmethod
    def init(module):
        if isinstance(module, nn.Linear):
            nn.init.orthogonal_(module.weight)
            nn.init.zeros_(module.bias)

    def policy(self, state):
        return Independent(Normal(self.actor(state), self.log_std.exp()), 1)

    def value(self, state):
        return self.critic(state).squeeze(-1)

    @torch.no_grad()
    def act(self, state):
        policy = self.policy(state)
        action = policy.sample()
        return action, policy.log_prob(action), self.value(state)


def collect(env, agent, count):
    steps, state = [], env.reset()
    for t in range(count):
        action, log_prob, value = agent.act(state)
        following, reward = env.step(action)
        steps.append(Step(state, action, log_prob, value, reward))
        state = env.reset() if (t + 1) % 16 == 0 else following
    return Step(*(torch.stack(column) for column in zip(*steps)))


@torch.no_grad()
def targets(batch, gamma=0.9):
    out, following = torch.empty_like(batch.reward), batch.value[-1]
    for t in reversed(range(len(out))):
        out[t] = following = batch.reward[t] + gamma * following
    advantage = out - batch.value
    return out, (advantage - advantage.mean()) / (advantage.std() + 1e-8)


def update(agent, optimizer, batch, epochs=2, size=16, clip=0.2):
    wanted, advantage = targets(batch)
    rows = list(range(len(wanted)))
    for _ in range(epochs):
        random.shuffle(rows)
        for start in range(0, len(rows), size):
            i = torch.tensor(rows[start : start + size])
            policy = agent.policy(batch.state[i])
            ratio = (policy.log_prob(batch.action[i]) - batch.log_prob[i]).exp()
            gain = torch.min(ratio * advantage[i], ratio.clamp(1 - clip, 1 + clip) * advantage[i])
            value_loss = (agent.value(batch.state[i]) - wanted[i]).pow(2).mean()
            loss = -gain.mean() + 0.5 * value_loss - 0.003 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
            with torch.no_grad():
                drift = ((ratio - 1) - ratio.log()).mean().item()
        if drift > 0.05:
            break
    return loss.item(), drift


if __name__ == "__main__":
    torch.manual_seed(17)
    random.seed(17)
    agent, env = Agent(), Point()
    optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3, eps=1e-5)
    for turn in range(4):
        batch = collect(env, agent, 64)
        print(turn, batch.reward.mean().item(), *update(agent, optimizer, batch))
