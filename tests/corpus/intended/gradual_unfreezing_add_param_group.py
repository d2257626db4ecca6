import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(37)
stages = nn.ModuleList([
    nn.Sequential(nn.Linear(6, 24), nn.ReLU()),
    nn.Sequential(nn.Linear(24, 24), nn.ReLU()),
    nn.Linear(24, 3)])
for stage in stages[:-1]:
    stage.requires_grad_(False)


def forward(x):
    for stage in stages:
        x = stage(x)
    return x


optimizer = torch.optim.Adam(stages[-1].parameters(), lr=1e-2)
for epoch in range(6):
    if epoch in (2, 4):
        stage = stages[2 - epoch // 2]
        stage.requires_grad_(True)
        optimizer.add_param_group({"params": stage.parameters(), "lr": 1e-2 / epoch})
    for _ in range(8):
        x = torch.randn(32, 6)
        loss = F.cross_entropy(forward(x), x[:, :3].argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, len(optimizer.param_groups), loss.item())
