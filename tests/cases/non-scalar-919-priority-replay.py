import copy
from collections import namedtuple

import numpy as np
import torch
import torch.nn as nn

Transition = namedtuple("Transition", "obs action reward next_obs done")


class PriorityReplay:
    def __init__(self, capacity, alpha=0.6):
        self.capacity, self.alpha = capacity, alpha
        self.data, self.priority, self.head = [], np.zeros(capacity, dtype=np.float32), 0
        self.rng = np.random.default_rng(0)

    def push(self, transition):
        if len(self.data) < self.capacity:
            self.data.append(transition)
        else:
            self.data[self.head] = transition
        self.priority[self.head] = self.priority.max() or 1.0
        self.head = (self.head + 1) % self.capacity

    def sample(self, n, beta):
        p = self.priority[: len(self.data)] ** self.alpha
        p /= p.sum()
        index = self.rng.choice(len(self.data), size=n, p=p)
        weights = (len(self.data) * p[index]) ** -beta
        batch = Transition(*map(torch.stack, zip(*(self.data[i] for i in index))))
        return index, torch.as_tensor(weights / weights.max()), batch

    def update(self, index, errors):
        self.priority[index] = errors.abs().cpu().numpy() + 1e-3


class QNet(nn.Module):
    def __init__(self, obs, actions, width=16):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, width), nn.ReLU())
        self.value, self.advantage = nn.Linear(width, 1), nn.Linear(width, actions)

    def forward(self, obs):
        h = self.body(obs)
        a = self.advantage(h)
        return self.value(h) + a - a.mean(-1, keepdim=True)


class DQN:
    def __init__(self, obs, actions, gamma=0.99):
        self.online, self.gamma = QNet(obs, actions), gamma
        self.target = copy.deepcopy(self.online).requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=1e-3, eps=1.5e-4)
        self.criterion = nn.SmoothL1Loss(reduction="none")

    def errors(self, batch):
        q = self.online(batch.obs).gather(1, batch.action.unsqueeze(1)).squeeze(1)
        best = self.online(batch.next_obs).argmax(1, keepdim=True)
        future = self.target(batch.next_obs).gather(1, best).squeeze(1)
        return self.criterion(q, batch.reward + self.gamma * (1 - batch.done) * future)

    def learn(self, replay, n=8):
        index, weights, batch = replay.sample(n, beta=0.4)
        errors = self.errors(batch)
        loss = errors * weights
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        replay.update(index, errors.detach())
        for slow, fast in zip(self.target.parameters(), self.online.parameters()):
            slow.lerp_(fast.detach(), 0.01)


torch.manual_seed(0)
replay, agent = PriorityReplay(32), DQN(obs=3, actions=2)
for step in range(24):
    obs, action = torch.randn(3), torch.randint(0, 2, ())
    replay.push(Transition(obs, action, obs[action], torch.randn(3), torch.tensor(float(step % 6 == 5))))
    if step >= 16:
        agent.learn(replay)
