import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(6)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, s, a):
        return self.net(torch.cat([s, a], dim=1))


actor = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())
critic = Critic()
actor_t, critic_t = copy.deepcopy(actor), copy.deepcopy(critic)
for p in [*actor_t.parameters(), *critic_t.parameters()]:
    p.requires_grad = False
opt_a = torch.optim.Adam(actor.parameters(), lr=1e-3)
opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3)


@torch.no_grad()
def polyak(target, source, tau=0.01):
    for t, s in zip(target.parameters(), source.parameters()):
        t.mul_(1 - tau).add_(tau * s)


for step in range(50):
    s = torch.randn(64, 3)
    a = torch.rand(64, 1) * 2 - 1
    r, s2 = -(a - s[:, :1].tanh()) ** 2, s + 0.1 * torch.randn(64, 3)
    with torch.no_grad():
        y = r + 0.9 * critic_t(s2, actor_t(s2))
    critic_loss = F.mse_loss(critic(s, a), y)
    opt_c.zero_grad()
    critic_loss.backward()
    opt_c.step()

    actor_loss = -critic(s, actor(s)).mean()
    opt_a.zero_grad()
    actor_loss.backward()
    opt_a.step()
    polyak(actor_t, actor)
    polyak(critic_t, critic)
print(critic_loss.item(), actor_loss.item())
