import math

import torch
from torch import nn
from torch.distributions import Categorical


class Corridor:
    """Walk to the right end; each step costs a little."""

    def __init__(self, length=6):
        self.length = length

    def reset(self):
        self.at = 0
        return self.observe()

    def observe(self):
        obs = torch.zeros(self.length)
        obs[self.at] = 1.0
        return obs

    def step(self, action):
        self.at = max(0, min(self.length - 1, self.at + (1 if action == 1 else -1)))
        done = self.at == self.length - 1
        return self.observe(), (1.0 if done else -0.05), done


class Memory:
    fields = ("log_probs", "rewards", "entropies")

    def __init__(self):
        self.clear()

    def clear(self):
        for name in self.fields:
            setattr(self, name, [])

    def push(self, **kwargs):
        for name, value in kwargs.items():
            getattr(self, name).append(value)


class Agent:
    def __init__(self, env, gamma=0.97):
        self.env, self.gamma = env, gamma
        self.policy = nn.Sequential(nn.Linear(env.length, 24), nn.Tanh(), nn.Linear(24, 2))
        self.optimizer = torch.optim.RMSprop(self.policy.parameters(), lr=5e-3)
        self.memory = Memory()

    def play(self, limit=20):
        obs = self.env.reset()
        for _ in range(limit):
            dist = Categorical(logits=self.policy(obs))
            action = dist.sample()
            obs, reward, done = self.env.step(action.item())
            self.memory.push(log_probs=dist.log_prob(action), rewards=reward, entropies=dist.entropy())
            if done:
                break
        return sum(self.memory.rewards)

    def returns(self):
        out, running = [], 0.0
        for reward in reversed(self.memory.rewards):
            running = reward + self.gamma * running
            out.insert(0, running)
        out = torch.tensor(out)
        return (out - out.mean()) / (out.std() + 1e-6)

    def learn(self):
        log_probs = torch.stack(self.memory.log_probs)
        bonus = torch.stack(self.memory.entropies).mean()
        loss = -(log_probs * self.returns()).sum() - 0.01 * bonus
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.memory.clear()


torch.manual_seed(11)
agent, best = Agent(Corridor()), -math.inf
for episode in range(5):
    best = max(best, agent.play())
    agent.learn()
print(f"best return {best:.2f}")
