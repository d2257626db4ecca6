import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(67)
backbone = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
head = nn.Linear(32, 3)
optimizer = torch.optim.AdamW([
    {"params": backbone.parameters(), "lr": 0.0},
    {"params": head.parameters(), "lr": 1e-2},
], weight_decay=0.01)
for epoch in range(6):
    if epoch == 2:
        optimizer.param_groups[0]["lr"] = 1e-3
    for _ in range(6):
        x = torch.randn(32, 8)
        loss = F.cross_entropy(head(backbone(x)), x[:, :3].argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, [g["lr"] for g in optimizer.param_groups], loss.item())
