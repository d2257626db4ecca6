import torch
import torch.nn as nn
from torch.distributions import Bernoulli

torch.manual_seed(32)
policy = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
baseline = 0.0
for episode in range(80):
    s = torch.randn(24, 4)
    dist = Bernoulli(logits=policy(s).squeeze(1))
    action = dist.sample()
    reward = (action == (s[:, 0] > 0).float()).float()
    loss = -(dist.log_prob(action) * (reward - baseline)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    baseline = 0.9 * baseline + 0.1 * reward.mean().item()
print("baseline", round(baseline, 3))
