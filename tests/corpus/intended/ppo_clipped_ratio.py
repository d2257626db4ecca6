import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.manual_seed(33)
policy = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 3))
value = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=3e-3)
for iteration in range(8):
    with torch.no_grad():
        s = torch.randn(64, 4)
        dist = Categorical(logits=policy(s))
        a = dist.sample()
        old_logp = dist.log_prob(a)
        reward = (a == s[:, :3].argmax(1)).float()
        adv = reward - value(s).squeeze(1)
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for epoch in range(4):
        for rows in torch.randperm(64).split(32):
            dist = Categorical(logits=policy(s[rows]))
            ratio = (dist.log_prob(a[rows]) - old_logp[rows]).exp()
            surrogate = torch.min(ratio * adv[rows], ratio.clamp(0.8, 1.2) * adv[rows]).mean()
            value_loss = F.mse_loss(value(s[rows]).squeeze(1), reward[rows])
            loss = -surrogate + 0.5 * value_loss - 0.01 * dist.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(iteration, reward.mean().item())
