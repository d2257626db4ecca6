import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(57)
N = 8
tau = (torch.arange(N) + 0.5) / N
net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2 * N))
target = copy.deepcopy(net).requires_grad_(False)
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(40):
    s, s2 = torch.randn(32, 3), torch.randn(32, 3)
    a = torch.randint(0, 2, (32,))
    r = torch.randn(32) * 0.1 + (a == 1) * s[:, 0]
    theta = net(s).view(32, 2, N)[torch.arange(32), a]
    with torch.no_grad():
        z = target(s2).view(32, 2, N)
        best = z.mean(dim=2).argmax(dim=1)
        goal = r[:, None] + 0.9 * z[torch.arange(32), best]
    delta = goal[:, None, :] - theta[:, :, None]
    weight = (tau[None, :, None] - (delta.detach() < 0).float()).abs()
    loss = (weight * F.huber_loss(theta[:, :, None].expand_as(delta), goal[:, None, :].expand_as(delta), reduction="none")).sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        target.load_state_dict(net.state_dict())
print(loss.item())
