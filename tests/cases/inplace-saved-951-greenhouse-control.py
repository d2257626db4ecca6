import copy
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F


def mlp(*sizes, last=None):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    layers[-1] = last or nn.Identity()
    return nn.Sequential(*layers)


class Critic(nn.Module):
    def __init__(self, state, action):
        super().__init__()
        self.q = mlp(state + action, 32, 32, 1)

    def forward(self, state, action):
        return self.q(torch.cat([state, action], dim=-1))


class Controller:
    def __init__(self, state=4, action=2, tau=0.01, gamma=0.98):
        self.actor = mlp(state, 32, action, last=nn.Tanh())
        self.critic = Critic(state, action)
        self.actor_target = copy.deepcopy(self.actor).requires_grad_(False)
        self.critic_target = copy.deepcopy(self.critic).requires_grad_(False)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-3)
        self.memory, self.tau, self.gamma = deque(maxlen=500), tau, gamma

    def losses(self, state, action, reward, following):
        with torch.no_grad():
            aim = reward + self.gamma * self.critic_target(following, self.actor_target(following))
        critic_loss = F.mse_loss(self.critic(state, action), aim)
        actor_loss = -self.critic(state, self.actor(state)).mean()
        return critic_loss, actor_loss

    def update(self, batch):
        critic_loss, actor_loss = self.losses(*batch)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()
        self.follow()
        return critic_loss.item(), actor_loss.item()

    @torch.no_grad()
    def follow(self):
        for net, target in ((self.actor, self.actor_target), (self.critic, self.critic_target)):
            for p, q in zip(net.parameters(), target.parameters()):
                q.lerp_(p, self.tau)

    def sample(self, count=16):
        return [torch.stack(column) for column in zip(*random.sample(list(self.memory), count))]


if __name__ == "__main__":
    torch.manual_seed(0)
    random.seed(0)
    control = Controller()
    for _ in range(64):
        control.memory.append((torch.randn(4), torch.rand(2) * 2 - 1, torch.randn(1), torch.randn(4)))
    for turn in range(3):
        print(turn, *control.update(control.sample()))
