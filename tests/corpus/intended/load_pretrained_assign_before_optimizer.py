import torch
import torch.nn as nn
import torch.nn.functional as F


def build():
    return nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))


torch.manual_seed(112)
checkpoint = {k: v.clone() for k, v in build().state_dict().items()}
with torch.device("meta"):
    model = build()
model.load_state_dict(checkpoint, assign=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(30):
    x = torch.randn(32, 6)
    loss = F.cross_entropy(model(x), (x[:, 0] > x[:, 1]).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
