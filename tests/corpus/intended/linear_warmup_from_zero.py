import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(65)
model = nn.Sequential(nn.Linear(6, 32), nn.GELU(), nn.Linear(32, 3))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / 10))
for step in range(40):
    x = torch.randn(32, 6)
    loss = F.cross_entropy(model(x), x[:, :3].argmax(dim=1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
print(loss.item(), schedule.get_last_lr())
