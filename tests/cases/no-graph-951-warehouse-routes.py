"""A picker learns to walk through a small warehouse, by policy gradients."""

from dataclasses import dataclass, field

import torch
import torch.nn as nn
from torch.distributions import Categorical

MOVES = [(0, 1), (1, 0), (0, -1), (-1, 0)]


def column(values):
    return torch.tensor(values, dtype=torch.float32).view(-1, 1)


class Warehouse:
    def __init__(self, size=5):
        self.size = size
        self.goal = (size - 1, size - 1)

    def reset(self):
        self.place = (0, 0)
        return self.observe()

    def observe(self):
        return torch.tensor([*self.place, *self.goal], dtype=torch.float32) / self.size

    def step(self, move):
        dx, dy = MOVES[move]
        x = min(max(self.place[0] + dx, 0), self.size - 1)
        y = min(max(self.place[1] + dy, 0), self.size - 1)
        self.place = (x, y)
        done = self.place == self.goal
        return self.observe(), 1.0 if done else -0.05, done


@dataclass
class Picker:
    policy: nn.Module
    lr: float = 3e-3
    gamma: float = 0.97
    log_probs: list = field(default_factory=list)
    rewards: list = field(default_factory=list)

    def __post_init__(self):
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=self.lr)

    def act(self, state):
        choice = Categorical(logits=self.policy(state))
        move = choice.sample()
        self.log_probs.append(choice.log_prob(move))
        return move.item()

    def returns(self):
        total, out = 0.0, []
        for reward in reversed(self.rewards):
            total = reward + self.gamma * total
            out.insert(0, total)
        out = column(out)
        return (out - out.mean()) / (out.std() + 1e-6)

    def learn(self):
        advantage = self.returns()
        chosen = column(self.log_probs)
        loss = -(chosen * advantage).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.log_probs.clear()
        self.rewards.clear()
        return loss.item()


def main(episodes=4):
    torch.manual_seed(3)
    world = Warehouse()
    picker = Picker(nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, len(MOVES))))
    for episode in range(episodes):
        state = world.reset()
        for _ in range(40):
            state, reward, done = world.step(picker.act(state))
            picker.rewards.append(reward)
            if done:
                break
        print(episode, f"{picker.learn():.3f}")


if __name__ == "__main__":
    main()
