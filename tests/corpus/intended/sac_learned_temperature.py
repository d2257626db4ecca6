import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

torch.manual_seed(7)


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 32), nn.ReLU(), nn.Linear(32, o))


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(3, 2)

    def forward(self, s):
        mean, log_std = self.net(s).chunk(2, dim=1)
        dist = Normal(mean, log_std.clamp(-5, 2).exp())
        u = dist.rsample()
        a = torch.tanh(u)
        return a, dist.log_prob(u) - torch.log(1 - a.pow(2) + 1e-6)


actor, q1, q2 = Actor(), mlp(4, 1), mlp(4, 1)
q1_t, q2_t = copy.deepcopy(q1).requires_grad_(False), copy.deepcopy(q2).requires_grad_(False)
log_alpha = torch.zeros(1, requires_grad=True)
q_params = [*q1.parameters(), *q2.parameters()]
opt_pi, opt_q = torch.optim.Adam(actor.parameters(), lr=1e-3), torch.optim.Adam(q_params, lr=1e-3)
opt_alpha = torch.optim.Adam([log_alpha], lr=1e-3)

for step in range(40):
    s = torch.randn(64, 3)
    a = torch.rand(64, 1) * 2 - 1
    r, s2 = -(a - s[:, :1].tanh()).pow(2), torch.randn(64, 3)
    with torch.no_grad():
        a2, logp2 = actor(s2)
        x2 = torch.cat([s2, a2], 1)
        y = r + 0.9 * (torch.min(q1_t(x2), q2_t(x2)) - log_alpha.exp() * logp2)
    x = torch.cat([s, a], 1)
    q_loss = F.mse_loss(q1(x), y) + F.mse_loss(q2(x), y)
    opt_q.zero_grad()
    q_loss.backward()
    opt_q.step()

    for p in q_params:
        p.requires_grad_(False)
    new_a, logp = actor(s)
    x = torch.cat([s, new_a], 1)
    pi_loss = (log_alpha.exp().detach() * logp - torch.min(q1(x), q2(x))).mean()
    opt_pi.zero_grad()
    pi_loss.backward()
    opt_pi.step()
    for p in q_params:
        p.requires_grad_(True)

    alpha_loss = -(log_alpha * (logp.detach() - 1.0)).mean()
    opt_alpha.zero_grad()
    alpha_loss.backward()
    opt_alpha.step()
    with torch.no_grad():
        for t, q in ((q1_t, q1), (q2_t, q2)):
            for pt, p in zip(t.parameters(), q.parameters()):
                pt.lerp_(p, 0.01)
print(q_loss.item(), pi_loss.item(), log_alpha.item())
