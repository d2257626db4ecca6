import copy
import random
from collections import deque, namedtuple

import torch
from torch import nn

Transition = namedtuple("Transition", "state action reward next_state done")


class Corridor:
    def __init__(self, length=6):
        self.length, self.at = length, 0

    def observe(self):
        return torch.eye(self.length)[self.at]

    def move(self, action):
        before = self.observe()
        self.at = max(0, min(self.length - 1, self.at + (1 if action else -1)))
        done = self.at == self.length - 1
        item = Transition(before, action, float(done), self.observe(), float(done))
        if done:
            self.at = 0
        return item


def huber(error, delta=1.0):
    size = error.abs()
    return torch.where(size < delta, 0.5 * size**2, delta * (size - 0.5 * delta))


def learn(online, frozen, optimizer, batch, gamma=0.95):
    states = torch.stack([t.state for t in batch])
    actions = torch.tensor([t.action for t in batch])
    rewards = torch.tensor([t.reward for t in batch])
    following = torch.stack([t.next_state for t in batch])
    done = torch.tensor([t.done for t in batch])
    with torch.no_grad():
        target = rewards + gamma * (1 - done) * frozen(following).amax(dim=1)
    chosen = online(states).gather(1, actions.unsqueeze(1)).squeeze(1)
    error = chosen - target
    loss = huber(error).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return error.dim()


random.seed(0)
torch.manual_seed(80)
online = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
frozen = copy.deepcopy(online).requires_grad_(False)
optimizer = torch.optim.Adam(online.parameters(), lr=1e-3)
env, memory, seen = Corridor(), deque(maxlen=200), []
for step in range(80):
    greedy = online(env.observe()).argmax().item()
    action = random.randrange(2) if random.random() < 0.3 else greedy
    memory.append(env.move(action))
    if len(memory) >= 32:
        seen.append(learn(online, frozen, optimizer, random.sample(memory, 16)))
    if step % 20 == 0:
        frozen.load_state_dict(online.state_dict())
assert seen[-1] == 1
