import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(90)


class Critic(nn.Module):
    def __init__(self, state=3, action=1):
        super().__init__()
        self.q = nn.Sequential(nn.Linear(state + action, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, s, a):
        return self.q(torch.cat([s, a], dim=1))


actor = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())
critic = Critic()
target_actor, target_critic = copy.deepcopy(actor), copy.deepcopy(critic)
actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
critic_opt = torch.optim.Adam(critic.parameters(), lr=2e-3)


def soft_update(target, source, tau=0.02):
    with torch.no_grad():
        for t, p in zip(target.parameters(), source.parameters()):
            t.lerp_(p, tau)


def update(s, a, r, s2, gamma=0.95):
    with torch.no_grad():
        goal = r + gamma * target_critic(s2, target_actor(s2))
    critic_loss = F.mse_loss(critic(s, a), goal)
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()

    actor_loss = -critic(s, actor(s)).mean()
    actor_loss.backward()
    actor_opt.step()
    actor_opt.zero_grad()

    soft_update(target_actor, actor)
    soft_update(target_critic, critic)
    return critic_loss.item(), actor_loss.item()


def replay(n=64):
    s = torch.randn(n, 3)
    a = torch.rand(n, 1) * 2 - 1
    return s, a, -(a - s[:, :1].tanh()).pow(2), s + 0.1 * torch.randn(n, 3)


for step in range(80):
    losses = update(*replay())
    if step % 20 == 0:
        print(step, [round(v, 4) for v in losses])
