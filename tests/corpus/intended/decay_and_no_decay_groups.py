import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(68)
model = nn.Sequential(nn.Linear(6, 24), nn.LayerNorm(24), nn.ReLU(), nn.Linear(24, 2))
decay = [p for p in model.parameters() if p.ndim > 1]
plain = [p for p in model.parameters() if p.ndim <= 1]
optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}], lr=3e-3)
for step in range(30):
    x = torch.randn(32, 6)
    loss = F.cross_entropy(model(x), (x[:, 0] > x[:, 1]).long())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(loss.item())
