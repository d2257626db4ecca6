import random
from collections import deque

import torch
import torch.nn as nn

torch.manual_seed(102)
random.seed(102)


class QNet(nn.Module):
    def __init__(self, floors=5, actions=3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * floors, 32), nn.ReLU(), nn.Linear(32, actions))

    def forward(self, s):
        return self.net(s)


class Lift:
    """Move down, wait or move up until the caller's floor is reached."""

    def reset(self):
        self.at, self.call = random.sample(range(5), 2)
        return self.state()

    def state(self):
        s = torch.zeros(10)
        s[self.at], s[5 + self.call] = 1, 1
        return s

    def step(self, action):
        self.at = min(4, max(0, self.at + action - 1))
        done = self.at == self.call
        return self.state(), (1.0 if done else -0.1), done


def td_error(q, target_q, batch, gamma=0.9):
    s, a, r, s2, done = (torch.stack(list(c)) if isinstance(c[0], torch.Tensor) else torch.tensor(c) for c in zip(*batch))
    value = q(s).gather(1, a.view(-1, 1)).squeeze(1)
    with torch.no_grad():
        target = r + gamma * target_q(s2).max(dim=1).values * (~done)
    return value - target


q, target_q = QNet(), QNet()
target_q.load_state_dict(q.state_dict())
optimizer = torch.optim.Adam(q.parameters(), lr=3e-3)
memory, env = deque(maxlen=500), Lift()
state = env.reset()
for step in range(200):
    with torch.no_grad():
        action = random.randrange(3) if random.random() < 0.2 else q(state).argmax().item()
    following, reward, done = env.step(action)
    memory.append((state, action, reward, following, done))
    state = env.reset() if done else following
    if len(memory) >= 32:
        error = td_error(q, target_q, random.sample(list(memory), 32))
        loss = error.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if step % 40 == 0:
        target_q.load_state_dict(q.state_dict())
print("mean square error", round(loss.item(), 4))
