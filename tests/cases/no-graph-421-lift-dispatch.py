from collections import deque

import torch
from torch import nn
from torch.distributions import Categorical


class Building:
    def __init__(self, floors=6):
        self.floors = floors

    def reset(self):
        self.lift = 0
        self.call = int(torch.randint(0, self.floors, ()))
        return self.observe()

    def observe(self):
        return torch.tensor([self.lift, self.call], dtype=torch.float32) / self.floors

    def move(self, action):
        self.lift = min(max(self.lift + action - 1, 0), self.floors - 1)
        done = self.lift == self.call
        return self.observe(), (1.0 if done else -0.1), done


class Memory:
    def __init__(self, size=64):
        self.steps = deque(maxlen=size)

    def push(self, log_prob, reward):
        self.steps.append((log_prob.detach(), reward))

    def unroll(self, gamma=0.95):
        returns, value = [], 0.0
        for _, reward in reversed(self.steps):
            value = reward + gamma * value
            returns.append(value)
        log_probs = torch.stack([log_prob for log_prob, _ in self.steps])
        return log_probs, torch.tensor(returns[::-1])


def episode(env, policy, limit=20):
    memory, state = Memory(), env.reset()
    for _ in range(limit):
        choice = Categorical(logits=policy(state))
        action = choice.sample()
        state, reward, done = env.move(action.item())
        memory.push(choice.log_prob(action), reward)
        if done:
            break
    return memory


torch.manual_seed(421)
env = Building()
policy = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 3))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
for n in range(30):
    log_probs, returns = episode(env, policy).unroll()
    loss = -(log_probs * returns).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if n % 10 == 0:
        print(f"episode {n} return {returns[0].item():.2f}")
