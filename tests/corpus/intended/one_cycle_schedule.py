import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(64)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.2, total_steps=40)
for step in range(40):
    x = torch.randn(32, 6)
    loss = F.cross_entropy(model(x), (x.sum(dim=1) > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 10 == 0:
        print(step, loss.item(), scheduler.get_last_lr())
