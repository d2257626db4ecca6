import random

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(84)
random.seed(84)
encoder, predictor = nn.Linear(6, 8), nn.Linear(8, 6)
optimizer = torch.optim.Adam([*encoder.parameters(), *predictor.parameters()], lr=5e-3)
bank = []
for step in range(40):
    x = torch.randn(16, 6)
    z = torch.tanh(encoder(x))
    loss = F.mse_loss(predictor(z), x)
    if len(bank) > 4:
        negatives = torch.cat(random.sample(bank, 3))
        loss = loss + 0.1 * (z @ negatives.t() / 0.5).logsumexp(dim=1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    bank.append(z.detach())
    bank = bank[-10:]
print(loss.item())
