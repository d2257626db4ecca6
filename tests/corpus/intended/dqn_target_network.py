import copy
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)
random.seed(4)
online = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
target = copy.deepcopy(online)
target.requires_grad_(False)
optimizer = torch.optim.Adam(online.parameters(), lr=3e-3)
memory = deque(maxlen=300)
state = torch.randn(4)


def env_step(state, action):
    reward = 1.0 if (state[0] > 0) == bool(action) else 0.0
    return torch.randn(4), reward, random.random() < 0.1


for step in range(120):
    with torch.no_grad():
        action = random.randrange(2) if random.random() < 0.2 else online(state).argmax().item()
    following, reward, done = env_step(state, action)
    memory.append((state, action, reward, following, float(done)))
    state = following
    if len(memory) < 32:
        continue
    s, a, r, s2, d = zip(*random.sample(list(memory), 32))
    s, s2 = torch.stack(s), torch.stack(s2)
    a, r, d = torch.tensor(a), torch.tensor(r), torch.tensor(d)
    q = online(s).gather(1, a.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        y = r + 0.9 * (1 - d) * target(s2).max(dim=1).values
    loss = F.smooth_l1_loss(q, y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(online.parameters(), 10.0)
    optimizer.step()
    if step % 20 == 0:
        target.load_state_dict(online.state_dict())
print("loss", loss.item())
