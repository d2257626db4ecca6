import random
from collections import deque

import torch
from torch import nn

random.seed(6)
torch.manual_seed(6)
FLOORS, GAMMA = 6, 0.9


class LiftEnv:
    """Move to the floor where somebody waits: up, stay, down."""

    def reset(self):
        self.lift, self.call, self.left = random.randrange(FLOORS), random.randrange(FLOORS), 12
        return self.state()

    def state(self):
        here, there = torch.zeros(FLOORS), torch.zeros(FLOORS)
        here[self.lift], there[self.call] = 1.0, 1.0
        return torch.cat([here, there])

    def step(self, action):
        self.lift = min(FLOORS - 1, max(0, self.lift + action - 1))
        self.left -= 1
        served = self.lift == self.call
        return self.state(), 1.0 if served else -0.1, served or self.left == 0


class Agent:
    def __init__(self):
        self.q = nn.Sequential(nn.Linear(2 * FLOORS, 24), nn.ReLU(), nn.Linear(24, 3))
        self.optimizer = torch.optim.Adam(self.q.parameters(), lr=2e-3)
        self.memory = deque(maxlen=500)

    @torch.no_grad()
    def act(self, state, explore):
        return random.randrange(3) if random.random() < explore else self.q(state).argmax().item()

    def learn(self, size=32):
        state, action, reward, following, done = zip(*random.sample(self.memory, size))
        state, following = torch.stack(state), torch.stack(following)
        action, reward, done = torch.tensor(action), torch.tensor(reward), torch.tensor(done).float()
        target = reward + GAMMA * (1 - done) * self.q(following).max(dim=1).values
        target.requires_grad = False
        value = self.q(state).gather(1, action[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(value, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


env, agent = LiftEnv(), Agent()
for episode in range(40):
    state, done, total = env.reset(), False, 0.0
    while not done:
        action = agent.act(state, explore=max(0.1, 1 - episode / 20))
        following, reward, done = env.step(action)
        agent.memory.append((state, action, reward, following, done))
        state, total = following, total + reward
        if len(agent.memory) >= 64:
            agent.learn()
print(f"return of the last episode {total:.1f}")
