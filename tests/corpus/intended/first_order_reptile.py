import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(51)
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
for outer in range(15):
    slope = torch.randn(1)
    fast = copy.deepcopy(model)
    inner = torch.optim.SGD(fast.parameters(), lr=0.05)
    for _ in range(5):
        x = torch.randn(16, 1)
        loss = F.mse_loss(fast(x), slope * x)
        inner.zero_grad()
        loss.backward()
        inner.step()
    with torch.no_grad():
        for p, q in zip(model.parameters(), fast.parameters()):
            p.lerp_(q, 0.3)
    if outer % 5 == 0:
        print(outer, loss.item())
