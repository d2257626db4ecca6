"""A schedule is looked at before the training: steps without gradients, and a forward pass for the shapes."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
print(model(torch.randn(2, 4)).shape)
rates = []
for _ in range(10):
    optimizer.step()
    schedule.step()
    rates.append(schedule.get_last_lr()[0])
print([round(rate, 3) for rate in rates])
