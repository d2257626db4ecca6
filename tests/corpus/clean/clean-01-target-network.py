import copy
import random
from collections import deque

import numpy as np
import torch
from torch import nn

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)


class Corridor:
    def __init__(self, length=7):
        self.length = length

    def reset(self):
        self.at, self.t = self.length // 2, 0
        return self.observe()

    def observe(self):
        view = np.zeros(self.length, dtype=np.float32)
        view[self.at] = 1
        return view

    def step(self, action):
        self.at += 1 if action else -1
        self.t += 1
        done = self.at in (0, self.length - 1) or self.t >= 20
        return self.observe(), float(self.at == self.length - 1), done


class Memory:
    def __init__(self, size=500):
        self.rows = deque(maxlen=size)

    def add(self, *row):
        self.rows.append(row)

    def sample(self, n):
        s, a, r, s2, d = zip(*random.sample(self.rows, n))
        return (torch.from_numpy(np.stack(s)), torch.tensor(a), torch.tensor(r),
                torch.as_tensor(np.stack(s2)), torch.tensor(d, dtype=torch.float32))


class Agent:
    def __init__(self, states):
        self.online = nn.Sequential(nn.Linear(states, 24), nn.ReLU(), nn.Linear(24, 2))
        self.target = copy.deepcopy(self.online).requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=5e-3)

    @torch.no_grad()
    def act(self, state, eps):
        if random.random() < eps:
            return random.randrange(2)
        return self.online(torch.from_numpy(state)).argmax().item()

    def learn(self, s, a, r, s2, d, gamma=0.95):
        q = self.online(s).gather(1, a[:, None]).squeeze(1)
        pick = self.online(s2).argmax(1, keepdim=True)
        goal = r + gamma * (1 - d) * self.target(s2).gather(1, pick).squeeze(1)
        loss = nn.functional.smooth_l1_loss(q, goal.detach())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(self.target.parameters(), self.online.parameters()):
                slow.lerp_(fast, 0.05)
        return loss.item()


env, agent, memory = Corridor(), Agent(7), Memory()
for episode in range(40):
    state, done, losses, total = env.reset(), False, [], 0.0
    while not done:
        action = agent.act(state, eps=max(0.1, 1 - episode / 20))
        after, reward, done = env.step(action)
        memory.add(state, action, reward, after, done)
        state, total = after, total + reward
        if len(memory.rows) >= 32:
            losses.append(agent.learn(*memory.sample(32)))
    if episode % 10 == 9:
        print(episode, total, round(float(np.mean(losses)), 4))
